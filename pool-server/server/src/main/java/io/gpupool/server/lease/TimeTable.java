// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.lease;

import io.gpupool.server.gpu.LeaseClass;
import io.gpupool.server.gpu.Share;
import io.gpupool.wire.TurnPage;
import io.netty.channel.unix.FileDescriptor;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.VarHandle;

/**
 * The {@link TurnPage}s of this server's GPUs, in a file that lives in memory alone: who may use
 * them, with which weight, and what each lease had. Owned by the control thread; the turns
 * themselves are taken by the workers. Since these can write to all of it, what the server itself
 * decides is kept here, too, and put back into the pages now and then.
 */
public final class TimeTable implements AutoCloseable {
  private static final VarHandle WORD = ValueLayout.JAVA_LONG.varHandle();

  private final SharedMemory memory;
  private final MemorySegment pages;
  private final Entry[][] entries;

  /** What a lease may have of a GPU: {@code sessions} are the slots that were taken, below this. */
  private record Entry(int weight, boolean hard, LeaseClass leaseClass, int sessions) {}

  /**
   * A lease's use of a GPU's time since it was entered, in nanoseconds.
   *
   * @param throttledNanos of what it waited, while nobody had the GPU and its limit kept it away
   */
  public record Use(long usedNanos, long waitedNanos, long throttledNanos) {
    static final Use NONE = new Use(0, 0, 0);
  }

  public TimeTable(int gpus) throws IOException {
    memory = new SharedMemory("gpupool-turns", (long) gpus * TurnPage.BYTES);
    pages = memory.bytes();
    entries = new Entry[gpus][TurnPage.MAX_LEASES];
  }

  /** A descriptor for a worker, which the caller must close. */
  FileDescriptor share() {
    return memory.share();
  }

  /**
   * Enters a lease.
   *
   * @return its number on that GPU
   * @throws IOException if the GPU has as many leases as there can be
   */
  int enter(int gpu, int weightBasisPoints, boolean hard, LeaseClass leaseClass)
      throws IOException {
    for (int lease = 0; lease < TurnPage.MAX_LEASES; lease++) {
      if (entries[gpu][lease] == null) {
        put(gpu, lease, TurnPage.VIRTUAL_TIME, get(gpu, TurnPage.VIRTUAL_NOW));
        put(gpu, lease, TurnPage.NOT_BEFORE, 0);
        put(gpu, lease, TurnPage.USED, 0);
        put(gpu, lease, TurnPage.WAITED, 0);
        put(gpu, lease, TurnPage.THROTTLED, 0);
        put(gpu, lease, TurnPage.MEASURED, 0);
        put(gpu, lease, TurnPage.CHARGED, 0);
        entries[gpu][lease] = new Entry(Math.max(1, weightBasisPoints), hard, leaseClass, 0);
        restore(gpu, lease);
        return lease;
      }
    }
    throw new IOException("GPU " + gpu + " has " + TurnPage.MAX_LEASES + " leases");
  }

  /**
   * Has a lease use the GPU with another weight, or otherwise. How long it has to wait for what it
   * had already goes by its new share, so that it gets that at once.
   */
  void change(
      int gpu,
      int lease,
      int weightBasisPoints,
      boolean hard,
      LeaseClass leaseClass,
      long nowNanos) {
    Entry before = entries[gpu][lease];
    Entry after = new Entry(Math.max(1, weightBasisPoints), hard, leaseClass, before.sessions);
    entries[gpu][lease] = after;
    double factor = (double) before.weight / after.weight;
    stretch(gpu, lease, TurnPage.VIRTUAL_TIME, get(gpu, TurnPage.VIRTUAL_NOW), factor);
    stretch(gpu, lease, TurnPage.NOT_BEFORE, nowNanos, factor);
    restore(gpu, lease);
  }

  /**
   * Brings a time nearer to one before it, or away from it, unless a worker changes it just now.
   */
  private void stretch(int gpu, int lease, int word, long since, double factor) {
    long at = at(gpu, TurnPage.leaseWord(lease, word));
    long time = (long) WORD.getVolatile(pages, at);
    if (time > since && factor != 1) {
      long changed = since + (long) ((time - since) * factor);
      boolean ignored = WORD.compareAndSet(pages, at, time, changed);
    }
  }

  /** Makes room for a session of a lease. */
  void enterSession(int gpu, int lease, int session) {
    Entry before = entries[gpu][lease];
    entries[gpu][lease] =
        new Entry(
            before.weight, before.hard, before.leaseClass, Math.max(before.sessions, session + 1));
    restore(gpu, lease);
  }

  /** Puts back what the server has decided for a lease, if a worker has written over it. */
  void restore(int gpu, int lease) {
    Entry entry = entries[gpu][lease];
    set(gpu, TurnPage.leaseWord(lease, TurnPage.HARD), entry.hard ? 1 : 0);
    boolean latency = entry.leaseClass == LeaseClass.LATENCY;
    set(gpu, TurnPage.leaseWord(lease, TurnPage.LATENCY), latency ? 1 : 0);
    set(gpu, TurnPage.leaseWord(lease, TurnPage.SESSIONS), entry.sessions);
    set(gpu, TurnPage.leaseWord(lease, TurnPage.WEIGHT), entry.weight);
    set(gpu, TurnPage.LEASES, leases(gpu));
  }

  /** Lease numbers that are taken: below this. */
  private int leases(int gpu) {
    int count = TurnPage.MAX_LEASES;
    while (count > 0 && entries[gpu][count - 1] == null) {
      count--;
    }
    return count;
  }

  /** Takes a session out whose worker is dead. */
  void leaveSession(int gpu, int lease, int session) {
    put(gpu, TurnPage.activeUntil(lease, session), 0);
    put(gpu, TurnPage.underWay(lease, session), 0);
  }

  /** Takes a lease out; its sessions have left. */
  void leave(int gpu, int lease) {
    entries[gpu][lease] = null;
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
        get(gpu, TurnPage.leaseWord(lease, TurnPage.WAITED)),
        get(gpu, TurnPage.leaseWord(lease, TurnPage.THROTTLED)));
  }

  /**
   * GPU time that a lease has had beyond what its share allows by now: how far its virtual time is
   * ahead of the GPU's, or what a hard lease's time until its next turn is worth.
   */
  long debtNanos(int gpu, int lease, long nowNanos) {
    Entry entry = entries[gpu][lease];
    long ahead =
        get(gpu, TurnPage.leaseWord(lease, TurnPage.VIRTUAL_TIME)) - get(gpu, TurnPage.VIRTUAL_NOW);
    long notBefore = get(gpu, TurnPage.leaseWord(lease, TurnPage.NOT_BEFORE));
    long barred = entry.hard ? notBefore - nowNanos : 0;
    return Share.partOf(Math.max(0, Math.max(ahead, barred)), entry.weight);
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

  /** Writes what is not there already, so that other processors keep their copy of the rest. */
  private void set(int gpu, int word, long value) {
    if (get(gpu, word) != value) {
      put(gpu, word, value);
    }
  }

  private void put(int gpu, int lease, int word, long value) {
    put(gpu, TurnPage.leaseWord(lease, word), value);
  }

  private static long at(int gpu, int word) {
    return (long) gpu * TurnPage.BYTES + word;
  }
}
