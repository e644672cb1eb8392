// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker.seal;

import io.gpupool.worker.connection.ClearConnection;
import io.gpupool.worker.connection.ProgramConnection;
import io.gpupool.worker.os.Memory;
import io.gpupool.worker.os.Posix;
import io.gpupool.worker.rings.ProgramRings;
import io.gpupool.worker.rings.SharedConnection;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.Arrays;
import java.util.Objects;
import java.util.concurrent.atomic.AtomicInteger;
import org.jspecify.annotations.Nullable;

/** The program's end of a new connection. One thread at a time receives, and one sends. */
public final class ProgramEnd implements AutoCloseable {
  /** The ways in which bytes travel. */
  public enum Kind {
    CLEAR,
    SEALED,
    SHARED
  }

  private static final int ROOM_BYTES = 1 << 20;
  private static final AtomicInteger CONNECTIONS = new AtomicInteger();

  private final int fd;
  private final ProgramConnection worker;
  private final @Nullable RecordSealer sealer;
  private final @Nullable RecordOpener opener;
  private final @Nullable ProgramRings rings;

  /** Freed when this object is. */
  private final MemorySegment memory = Arena.ofAuto().allocate(3L * ROOM_BYTES, 64);

  private final long content = memory.address();
  private final long outgoing = content + ROOM_BYTES;
  private final long incoming = outgoing + ROOM_BYTES;

  /** What is on its way, of the bytes that were taken. */
  private int sent;

  private int ready;

  /** What was received and not asked for yet. */
  private byte[] rest = new byte[0];

  private ProgramEnd(
      int fd,
      ProgramConnection worker,
      @Nullable RecordSealer sealer,
      @Nullable RecordOpener opener,
      @Nullable ProgramRings rings) {
    this.fd = fd;
    this.worker = worker;
    this.sealer = sealer;
    this.opener = opener;
    this.rings = rings;
  }

  public static ProgramEnd open(Kind kind) {
    int[] pair = Posix.socketPair();
    return switch (kind) {
      case CLEAR -> new ProgramEnd(pair[0], new ClearConnection(pair[1]), null, null, null);
      case SEALED -> sealed(pair);
      case SHARED -> sharing(pair);
    };
  }

  private static ProgramEnd sealed(int[] pair) {
    byte[] secret = new byte[RecordKeys.SECRET_BYTES];
    Arrays.fill(secret, (byte) CONNECTIONS.incrementAndGet());
    return new ProgramEnd(
        pair[0],
        new SealedConnection(pair[1], secret),
        new RecordSealer(RecordKeys.sealing(secret, RecordKeys.End.PROGRAM)),
        new RecordOpener(RecordKeys.opening(secret, RecordKeys.End.WORKER)),
        null);
  }

  private static ProgramEnd sharing(int[] pair) {
    try {
      ProgramConnection worker = SharedConnection.open(pair[1]);
      return new ProgramEnd(pair[0], worker, null, null, new ProgramRings(pair[0]));
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  public int fd() {
    return fd;
  }

  /** The other end, whose descriptor is not closed with this one. */
  public ProgramConnection worker() {
    return worker;
  }

  /** Takes bytes and sends what can be without waiting; returns how many it took. */
  public int send(byte[] bytes, int from, int lengthBytes) {
    if (!flush(Posix.MSG_DONTWAIT)) {
      return 0;
    }
    int length = Math.min(lengthBytes, Records.MAX_CONTENT_BYTES);
    Memory.put(content, Arrays.copyOfRange(bytes, from, from + length), length);
    if (rings != null) {
      return (int) rings.putSome(content, length);
    }
    sent = 0;
    if (sealer == null) {
      Memory.copy(content, outgoing, length);
      ready = length;
    } else {
      ready = sealer.seal(content, length, outgoing);
    }
    boolean ignored = flush(Posix.MSG_DONTWAIT);
    return length;
  }

  /** Sends all, unless the connection ends. */
  public void sendAll(byte[] bytes, int lengthBytes) {
    boolean open = true;
    for (int at = 0; at < lengthBytes && open; ) {
      int took = send(bytes, at, lengthBytes - at);
      at += took;
      open = flush(0);
      if (took == 0 && rings != null) {
        rings.awaitRoom();
        open = !hasEnded();
      }
    }
  }

  private boolean hasEnded() {
    Memory.putInt(content, fd);
    Memory.putInt(content + 4, Posix.POLLRDHUP);
    return Posix.poll(content, 1, 0) > 0;
  }

  /** Has a worker that shares memory believe so many bytes were put in. */
  public void claimToHavePut(long lengthBytes) {
    Objects.requireNonNull(rings).claimToHavePut(lengthBytes);
  }

  /** Sends bytes as they are, and not as content. */
  public void sendRaw(byte[] bytes) {
    Memory.put(content, bytes, bytes.length);
    int ignored = Posix.sendAll(fd, content, bytes.length, false);
  }

  /** Sends what can be of the bytes that were taken; returns whether all of them are sent. */
  public boolean flush(int flags) {
    long count = 0;
    while (sent < ready && count >= 0) {
      count = Posix.send(fd, outgoing + sent, ready - sent, flags);
      sent += (int) Math.max(0, count);
    }
    return sent == ready;
  }

  /** Receives up to so many bytes; none: nothing is there, or the connection has ended. */
  public byte[] receive(int mostBytes, int flags) {
    if (rest.length == 0) {
      long count =
          opener != null
              ? opener.receive(fd, incoming, ROOM_BYTES, flags)
              : rings != null
                  ? rings.receive(incoming, Math.min(mostBytes, ROOM_BYTES), flags)
                  : Posix.recv(fd, incoming, Math.min(mostBytes, ROOM_BYTES), flags);
      rest = Memory.bytes(incoming, (int) Math.max(0, count));
    }
    int length = Math.min(mostBytes, rest.length);
    byte[] bytes = Arrays.copyOf(rest, length);
    rest = Arrays.copyOfRange(rest, length, rest.length);
    return bytes;
  }

  @Override
  public void close() {
    if (rings != null) {
      rings.close();
    } else {
      Posix.close(fd);
    }
  }
}
