// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker.move;

import io.gpupool.cuda.MemoryRange;
import io.gpupool.cuda.Ops;
import io.gpupool.worker.session.Pause;
import io.gpupool.worker.session.ResumePoint;
import io.gpupool.worker.session.Session;
import io.gpupool.worker.session.SessionState;
import io.gpupool.worker.session.journal.RestoreException;
import io.gpupool.worker.session.module.Images;
import java.io.ByteArrayOutputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.zip.CRC32C;

/**
 * The departure of a session: its memory is sent while it runs, and once it is paused what has
 * changed since, with all else that it has. It stays paused until it is decided whether it has
 * left.
 */
public final class MoveSource {
  private static final long PATIENCE_NANOS = TimeUnit.SECONDS.toNanos(10);
  private static final int MAX_ROUNDS = 8;

  /** What is changed in the time of sending so little is as well sent in the pause. */
  private static final long SMALL_ROUND_BYTES = 16 << 20;

  private final Session session;
  private final List<Long> memoryBases;
  private final MoveChannel channel;
  private final Manner manner;
  private final Reports reports;
  private final SentMemory memory;
  private final CompletableFuture<Boolean> decision = new CompletableFuture<>();

  /** The manner of a departure. */
  public enum Manner {
    /** To another worker, which answers. */
    MOVE,
    /**
     * To a file, from which a worker restores it later: nobody answers, and the end of what is sent
     * is that of the stream.
     */
    SAVE,
    /** The same, and the session is paused at once, as its program is to stand still anyway. */
    SAVE_AT_ONCE
  }

  /** Takes the news of a departure. */
  public interface Reports {
    /**
     * The target has the session, which is paused here until it is decided where it goes on.
     *
     * @param bytes that were sent
     * @param pauseNanos since the session was paused
     */
    void moved(long bytes, long pauseNanos);

    /** The session goes on here. */
    void failed(String reason);
  }

  /**
   * Prepares a departure.
   *
   * @param memoryBases where the memory of each of its GPUs begins
   * @param fd a blocking socket to the other worker, which is the source's to close
   */
  public MoveSource(
      Session session, List<Long> memoryBases, int fd, Manner manner, Reports reports) {
    this.session = session;
    this.memoryBases = List.copyOf(memoryBases);
    this.manner = manner;
    this.reports = reports;
    channel = new MoveChannel(fd);
    memory = new SentMemory(channel, session.transfer()::openWindow);
  }

  /** Sends the session; returns when that has failed, or goes on in the session's thread. */
  public void run() {
    Optional<String> reason = session.transfer().rejectionReason();
    if (reason.isPresent()) {
      fail(reason.get());
      return;
    }
    try {
      hello();
      if (manner != Manner.SAVE_AT_ONCE) {
        sendWhileItRuns();
      }
      session.transfer().pause(new Departure(), PATIENCE_NANOS);
    } catch (IOException | RuntimeException e) {
      fail(String.valueOf(e.getMessage()));
    }
  }

  private void sendWhileItRuns() throws IOException {
    long before = Long.MAX_VALUE;
    for (int round = 0; round < MAX_ROUNDS; round++) {
      long sent =
          memory.sendWhileChanging(
              session.transfer().memory().stream().filter(MemoryRange::stageable).toList());
      if (sent <= SMALL_ROUND_BYTES || sent > before / 2) {
        break;
      }
      before = sent;
    }
  }

  /**
   * Decides where the session goes on; breaks off what is under way if it stays. Any thread may.
   *
   * @param gone whether it goes on at the target
   */
  public void decide(boolean gone) {
    decision.complete(gone);
    if (!gone) {
      channel.interrupt();
    }
  }

  private void hello() throws IOException {
    ByteBuffer bases = ByteBuffer.allocate(Long.BYTES * memoryBases.size());
    memoryBases.forEach(bases.order(ByteOrder.LITTLE_ENDIAN)::putLong);
    channel.send(MoveMessage.Kind.HELLO, MoveChannel.VERSION, Ops.DIGEST, bases.array());
    if (manner == Manner.MOVE) {
      channel.expect(MoveMessage.Kind.READY);
    }
  }

  private void fail(String reason) {
    memory.close();
    channel.close();
    reports.failed(reason);
  }

  /** The part of a departure in the session's thread. */
  private final class Departure implements Pause {
    @Override
    public boolean paused(SessionState state, ResumePoint point) {
      long begin = System.nanoTime();
      try {
        send(state, point);
      } catch (IOException | RestoreException | RuntimeException e) {
        fail(String.valueOf(e.getMessage()));
        return false;
      } finally {
        state.release();
      }
      reports.moved(channel.sentBytes(), System.nanoTime() - begin);
      boolean gone = decision.join();
      memory.close();
      channel.close();
      return gone;
    }

    @Override
    public void refused(String reason) {
      fail(reason);
    }

    private void send(SessionState state, ResumePoint point) throws IOException, RestoreException {
      List<MemoryRange> ranges = state.memory();
      ByteArrayOutputStream bytes = new ByteArrayOutputStream();
      DataOutputStream to = new DataOutputStream(bytes);
      state.save(to);
      MemoryRange.write(ranges, to);
      ByteArrayOutputStream place = new ByteArrayOutputStream();
      point.write(new DataOutputStream(place));
      channel.send(MoveMessage.Kind.PAUSED, 0, 0, place.toByteArray());
      for (Images.Image image : state.images()) {
        channel.send(MoveMessage.Kind.IMAGE, 0, 0, image.address(), image.lengthBytes());
      }
      CRC32C checksum = new CRC32C();
      byte[] saved = bytes.toByteArray();
      checksum.update(saved);
      channel.send(MoveMessage.Kind.STATE, checksum.getValue(), 0, saved);
      memory.send(ranges);
      channel.send(MoveMessage.Kind.END, 0, 0);
      if (manner == Manner.MOVE) {
        channel.expect(MoveMessage.Kind.RESTORED);
      } else {
        channel.endSending();
      }
    }
  }
}
