// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker.move;

import io.gpupool.cuda.Backend;
import io.gpupool.cuda.MemoryRange;
import io.gpupool.cuda.MemoryWindow;
import io.gpupool.cuda.Ops;
import io.gpupool.cuda.Relocation;
import io.gpupool.worker.session.ResumePoint;
import io.gpupool.worker.session.Session;
import io.gpupool.worker.session.SessionState;
import io.gpupool.worker.session.core.AddressRanges;
import io.gpupool.worker.session.journal.RestoreException;
import io.gpupool.worker.session.module.Images;
import java.io.ByteArrayInputStream;
import java.io.DataInputStream;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.function.Function;
import java.util.zip.CRC32C;
import org.jspecify.annotations.Nullable;

/**
 * The arrival of a session, in the thread that is to run it: its memory comes first, then all else,
 * of which it is made again, and then the memory that has changed in between.
 */
public final class MoveTarget {
  /** Allocations may lie so far apart that blocks hold more than there is of memory. */
  private static final long SLACK_BYTES = 64 << 20;

  private final Relocation relocation;
  private final List<Long> memoryBases;
  private final long mostBytes;
  private final Function<ResumePoint, Session> making;
  private final List<Images.Image> images = new ArrayList<>();

  /** The memory of the session once it is made. */
  private final AddressRanges ranges = new AddressRanges();

  /** The blocks of memory that came before the session. */
  private final Set<Long> staged = new HashSet<>();

  private @Nullable Session session;
  private @Nullable SessionState state;
  private List<MemoryRange> wanted = List.of();

  /**
   * Prepares an arrival.
   *
   * @param memoryBases where the memory of each of the session's GPUs begins here
   * @param quotaBytes of the lease, on all of those GPUs
   * @param making makes the session, without anything that it has
   */
  public MoveTarget(
      Backend backend,
      List<Long> memoryBases,
      long quotaBytes,
      Function<ResumePoint, Session> making) {
    mostBytes = 2 * quotaBytes + SLACK_BYTES;
    relocation =
        backend.relocation().orElseThrow(() -> new IllegalStateException("addresses change"));
    this.memoryBases = List.copyOf(memoryBases);
    this.making = making;
  }

  /**
   * Receives the session.
   *
   * @param fd a blocking socket to the other worker, which is the target's to close
   * @param onRestored runs when the session is complete, before the source hears of it
   * @return the session, to be run in this thread
   * @throws IOException if the connection breaks, or does not bring what it should
   * @throws RestoreException if the session cannot be made again here
   */
  public Session receive(int fd, Runnable onRestored) throws IOException, RestoreException {
    try (MoveChannel channel = new MoveChannel(fd);
        MemoryWindow window = relocation.openWindow()) {
      try {
        Session received = receive(channel, window);
        onRestored.run();
        channel.send(MoveMessage.Kind.RESTORED, 0, 0);
        return received;
      } catch (IOException | RestoreException | RuntimeException e) {
        tell(channel, String.valueOf(e.getMessage()));
        throw e;
      }
    }
  }

  private static void tell(MoveChannel channel, String reason) {
    try {
      channel.send(MoveMessage.Kind.FAILED, 0, 0, reason.getBytes(StandardCharsets.UTF_8));
      channel.drain();
    } catch (IOException e) {
      // The source has given up already.
    }
  }

  private Session receive(MoveChannel channel, MemoryWindow window)
      throws IOException, RestoreException {
    greet(channel);
    for (MoveMessage message = channel.receive();
        message.kind() != MoveMessage.Kind.END;
        message = channel.receive()) {
      switch (message.kind()) {
        case MEMORY -> memory(channel, window, message);
        case PAUSED -> begin(channel.bytes(message));
        case IMAGE -> image(channel, message);
        case STATE -> state(channel.bytes(message), message.first());
        default -> throw new IOException(message.kind() + " came from the source of a move");
      }
    }
    if (state == null || session == null) {
      throw new IOException("the end of a move came before the session");
    }
    state.requireMemory(wanted);
    images.forEach(session.transfer().images()::release);
    images.clear();
    return session;
  }

  private void greet(MoveChannel channel) throws IOException, RestoreException {
    MoveMessage hello = channel.expect(MoveMessage.Kind.HELLO);
    ByteBuffer bases = ByteBuffer.wrap(channel.bytes(hello)).order(ByteOrder.LITTLE_ENDIAN);
    if (hello.first() != MoveChannel.VERSION || (int) hello.second() != Ops.DIGEST) {
      throw new RestoreException("the servers have different versions of gpupool");
    }
    List<Long> theirs = new ArrayList<>();
    while (bases.remaining() >= Long.BYTES) {
      theirs.add(bases.getLong());
    }
    if (!theirs.equals(memoryBases)) {
      throw new RestoreException("the addresses of the session's memory are taken here");
    }
    channel.send(MoveMessage.Kind.READY, 0, 0);
  }

  private void memory(MoveChannel channel, MemoryWindow window, MoveMessage message)
      throws IOException, RestoreException {
    long address = message.first();
    long lengthBytes = message.lengthBytes();
    if (lengthBytes > SentMemory.MAX_RUN_BYTES) {
      throw new IOException(lengthBytes + " bytes of memory came at a time");
    }
    if (state == null) {
      stage(address, lengthBytes);
    } else if (!ranges.cover(address, lengthBytes)) {
      throw new IOException("memory came that the session does not have");
    }
    long space = window.space(address, lengthBytes);
    if (space == 0) {
      throw new RestoreException("no window onto the memory of the session");
    }
    channel.receiveBytes(space, lengthBytes);
    if (SentMemory.printOf(address, space, lengthBytes) != message.second()) {
      throw new IOException("memory has arrived other than it was sent");
    }
    int result = window.write(address, lengthBytes);
    if (result != 0) {
      throw new RestoreException(
          "memory of the session at 0x%x cannot be written: CUDA error %d"
              .formatted(address, result));
    }
  }

  private void stage(long address, long lengthBytes) throws RestoreException {
    int result = relocation.stage(address, lengthBytes);
    if (result != 0) {
      throw new RestoreException("no room for the memory of the session: CUDA error " + result);
    }
    long last = (address + lengthBytes - 1) / SentMemory.BLOCK_BYTES;
    for (long block = address / SentMemory.BLOCK_BYTES; block <= last; block++) {
      staged.add(block);
    }
    if (staged.size() > mostBytes / SentMemory.BLOCK_BYTES) {
      throw new RestoreException("the session has more memory than its lease");
    }
  }

  private void begin(byte[] place) throws IOException {
    if (session != null) {
      throw new IOException("a second session came in a move");
    }
    ResumePoint point = ResumePoint.read(new DataInputStream(new ByteArrayInputStream(place)));
    session = making.apply(point);
  }

  private void image(MoveChannel channel, MoveMessage message)
      throws IOException, RestoreException {
    if (session == null) {
      throw new IOException("an image came before the session");
    }
    Images.Image image = session.transfer().images().receive(message.lengthBytes());
    if (image == null) {
      throw new RestoreException("no memory for an image of " + message.lengthBytes() + " bytes");
    }
    images.add(image);
    channel.receiveBytes(image.address(), image.lengthBytes());
  }

  private void state(byte[] bytes, long sum) throws IOException, RestoreException {
    CRC32C checksum = new CRC32C();
    checksum.update(bytes);
    if (session == null || checksum.getValue() != sum) {
      throw new IOException("the state of a session has arrived other than it was sent");
    }
    DataInputStream from = new DataInputStream(new ByteArrayInputStream(bytes));
    state = session.transfer().restore(from, images);
    wanted = MemoryRange.read(from);
    for (MemoryRange range : state.memory()) {
      ranges.add(range.address(), range.lengthBytes());
    }
  }
}
