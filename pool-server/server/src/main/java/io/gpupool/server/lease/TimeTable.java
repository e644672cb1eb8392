// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.lease;

import io.gpupool.wire.TurnPage;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.VarHandle;
import java.nio.file.Path;

/**
 * The {@link TurnPage}s of this server's GPUs, in a file that lives in memory alone: who may use
 * them, with which weight, and what each lease had. Owned by the control thread; the turns
 * themselves are taken by the workers.
 */
public final class TimeTable implements AutoCloseable {
  private static final VarHandle WORD = ValueLayout.JAVA_LONG.varHandle();

  private final SharedMemory memory;
  private final MemorySegment pages;

  /** A lease's use of a GPU's time since it was granted, in nanoseconds. */
  public record Use(long usedNanos, long waitedNanos) {}

  public TimeTable(int gpus) throws IOException {
    memory = new SharedMemory("gpupool-turns", (long) gpus * TurnPage.BYTES);
    pages = memory.bytes();
  }

  /** Under which path a worker of the same user opens it. */
  Path path() {
    return memory.path();
  }

  /**
   * Enters a lease.
   *
   * @return its number on that GPU
   * @throws IOException if the GPU has as many leases as there can be
   */
  int enter(int gpu, int weightBasisPoints, boolean hard) throws IOException {
    for (int lease = 0; lease < TurnPage.MAX_LEASES; lease++) {
      if (get(gpu, TurnPage.leaseWord(lease, TurnPage.WEIGHT)) == 0) {
        put(gpu, lease, TurnPage.HARD, hard ? 1 : 0);
        put(gpu, lease, TurnPage.VIRTUAL_TIME, get(gpu, TurnPage.VIRTUAL_NOW));
        put(gpu, lease, TurnPage.NOT_BEFORE, 0);
        put(gpu, lease, TurnPage.USED, 0);
        put(gpu, lease, TurnPage.WAITED, 0);
        put(gpu, lease, TurnPage.SESSIONS, 0);
        put(gpu, lease, TurnPage.WEIGHT, Math.max(1, weightBasisPoints));
        if (get(gpu, TurnPage.LEASES) <= lease) {
          put(gpu, TurnPage.LEASES, lease + 1);
        }
        return lease;
      }
    }
    throw new IOException("GPU " + gpu + " has " + TurnPage.MAX_LEASES + " leases");
  }

  /** Changes what a lease may have, at once. */
  void change(int gpu, int lease, int weightBasisPoints, boolean hard) {
    put(gpu, lease, TurnPage.HARD, hard ? 1 : 0);
    put(gpu, lease, TurnPage.WEIGHT, Math.max(1, weightBasisPoints));
  }

  /** Makes room for a session of a lease. */
  void enterSession(int gpu, int lease, int session) {
    long sessions = get(gpu, TurnPage.leaseWord(lease, TurnPage.SESSIONS));
    put(gpu, lease, TurnPage.SESSIONS, Math.max(sessions, session + 1));
  }

  /** Takes a session out whose worker is dead. */
  void leaveSession(int gpu, int lease, int session) {
    put(gpu, TurnPage.activeUntil(lease, session), 0);
  }

  /** Takes a lease out; its sessions have left. */
  void leave(int gpu, int lease) {
    put(gpu, lease, TurnPage.WEIGHT, 0);
    long turn = get(gpu, TurnPage.TURN);
    if ((turn & TurnPage.HOLDER_MASK) == lease + 1) {
      boolean ignored =
          WORD.compareAndSet(pages, at(gpu, TurnPage.TURN), turn, turn & ~TurnPage.HOLDER_MASK);
    }
  }

  Use use(int gpu, int lease) {
    return new Use(
        get(gpu, TurnPage.leaseWord(lease, TurnPage.USED)),
        get(gpu, TurnPage.leaseWord(lease, TurnPage.WAITED)));
  }

  @Override
  public void close() throws IOException {
    memory.close();
  }

  private long get(int gpu, int word) {
    return (long) WORD.getVolatile(pages, at(gpu, word));
  }

  private void put(int gpu, int word, long value) {
    WORD.setVolatile(pages, at(gpu, word), value);
  }

  private void put(int gpu, int lease, int word, long value) {
    put(gpu, TurnPage.leaseWord(lease, word), value);
  }

  private static long at(int gpu, int word) {
    return (long) gpu * TurnPage.BYTES + word;
  }
}
