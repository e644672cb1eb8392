// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker.slicer;

import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import io.gpupool.wire.SchedulePage;
import io.gpupool.worker.os.Futex;
import io.gpupool.worker.os.ServerFile;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.lang.invoke.VarHandle;

/**
 * The {@link SchedulePage} of one GPU, in memory that all workers share. Any thread of any of them
 * may call it; nothing is locked, so nothing stays locked when a worker dies.
 */
final class SharedSchedule implements FairShares.Leases {
  private static final long JUST_BEFORE_NANOS = 5_000_000;

  private static final VarHandle WORD = JAVA_LONG.varHandle();
  private static final VarHandle WAKE_WORD = JAVA_INT.varHandle();
  private static final int HOLDER_BITS = 8;
  private static final int UNIT_BITS = 10;

  private final MemorySegment page;

  SharedSchedule(MemorySegment page) {
    this.page = page;
  }

  /**
   * Maps a page.
   *
   * @throws IOException if the file cannot be mapped or is too short
   */
  static SharedSchedule open(ServerFile file, int page) throws IOException {
    return new SharedSchedule(file.map((long) page * SchedulePage.BYTES, SchedulePage.BYTES));
  }

  // The time slice: one word, so that it changes hands at once or not at all.

  long current() {
    return (long) WORD.getVolatile(page, (long) SchedulePage.TIME_SLICE);
  }

  boolean handOver(long from, long to) {
    return WORD.compareAndSet(page, (long) SchedulePage.TIME_SLICE, from, to);
  }

  static long timeSliceOf(int lease, long nowNanos) {
    return nowNanos >> UNIT_BITS << HOLDER_BITS | lease + 1;
  }

  /** {@link FairShares#NOBODY} if it is nobody's, or that of a lease that cannot be. */
  static int holder(long slice) {
    int lease = (int) (slice & SchedulePage.HOLDER_MASK) - 1;
    return lease < SchedulePage.MAX_LEASES ? lease : FairShares.NOBODY;
  }

  static long startNanos(long slice) {
    return slice >> HOLDER_BITS << UNIT_BITS;
  }

  long recall() {
    return (long) WORD.getOpaque(page, (long) SchedulePage.RECALL);
  }

  void recall(long slice) {
    WORD.setVolatile(page, (long) SchedulePage.RECALL, slice);
  }

  // The accounts.

  @Override
  public int count() {
    return Math.clamp(get(SchedulePage.LEASES), 0, SchedulePage.MAX_LEASES);
  }

  @Override
  public long weight(int lease) {
    return Math.clamp(get(word(lease, SchedulePage.WEIGHT)), 0, FairShares.WHOLE);
  }

  @Override
  public boolean isHard(int lease) {
    return get(word(lease, SchedulePage.HARD)) != 0;
  }

  @Override
  public boolean isLatency(int lease) {
    return get(word(lease, SchedulePage.LATENCY)) != 0;
  }

  @Override
  public long virtualTime(int lease) {
    return get(word(lease, SchedulePage.VIRTUAL_TIME));
  }

  @Override
  public long notBefore(int lease) {
    return get(word(lease, SchedulePage.NOT_BEFORE));
  }

  @Override
  public long virtualNow() {
    return get(SchedulePage.VIRTUAL_NOW);
  }

  @Override
  public boolean isActive(int lease, long nowNanos) {
    return activeUntil(lease, nowNanos) - nowNanos > 0;
  }

  /** Returns the latest time of all sessions of a lease; a long time ago if there is none. */
  long activeUntil(int lease, long nowNanos) {
    long latest = nowNanos - Long.MAX_VALUE / 2;
    int sessions = sessions(lease);
    for (int session = 0; session < sessions; session++) {
      long until = get(SchedulePage.activeUntil(lease, session));
      latest = until != 0 && until - latest > 0 ? until : latest;
    }
    return latest;
  }

  private int sessions(int lease) {
    return Math.clamp(get(word(lease, SchedulePage.SESSIONS)), 0, SchedulePage.MAX_SESSIONS);
  }

  /** Returns whether there is work of another lease. */
  boolean othersActive(int lease, long nowNanos) {
    int count = count();
    for (int other = 0; other < count; other++) {
      if (other != lease && weight(other) > 0 && isActive(other, nowNanos)) {
        return true;
      }
    }
    return false;
  }

  /** Returns whether another lease has programs that serve requests, be they idle or not. */
  boolean hasOtherLatencyLeases(int lease) {
    int count = count();
    for (int other = 0; other < count; other++) {
      if (other != lease && isLatency(other) && weight(other) > 0 && sessions(other) > 0) {
        return true;
      }
    }
    return false;
  }

  void markActive(int lease, int session, long untilNanos) {
    WORD.setRelease(page, (long) SchedulePage.activeUntil(lease, session), untilNanos);
  }

  // Work that was submitted to a driver.

  void markUnderWay(int lease, int session, long untilNanos) {
    WORD.setRelease(page, (long) SchedulePage.underWay(lease, session), untilNanos);
  }

  /** Returns the number of other sessions of a lease that have work under way. */
  int othersUnderWay(int lease, int session, long nowNanos) {
    int count = 0;
    int sessions = sessions(lease);
    for (int other = 0; other < sessions; other++) {
      long until = get(SchedulePage.underWay(lease, other));
      if (other != session && until != 0 && until - nowNanos > 0) {
        count++;
      }
    }
    return count;
  }

  void addMeasured(int lease, long nanos) {
    add(word(lease, SchedulePage.MEASURED), nanos);
  }

  /**
   * Puts a time slice of a lease into the books: what was measured since the last one, if that is.
   */
  void chargeTimeSlice(int lease, long heldNanos, long nowNanos) {
    if (get(word(lease, SchedulePage.MEASURED)) == 0) {
      charge(lease, heldNanos, nowNanos);
    } else {
      chargeMeasured(lease, nowNanos);
    }
  }

  /**
   * Puts into the books what was measured since the last time. Where less is measured than is
   * charged, since a pause was shorter than it was taken to be, later work is free until then.
   */
  void chargeMeasured(int lease, long nowNanos) {
    long measured = get(word(lease, SchedulePage.MEASURED));
    long charged = get(word(lease, SchedulePage.CHARGED));
    if (measured - charged > 0
        && WORD.compareAndSet(page, word(lease, SchedulePage.CHARGED), charged, measured)) {
      charge(lease, measured - charged, nowNanos);
    }
  }

  private void charge(int lease, long usedNanos, long nowNanos) {
    long weight = weight(lease);
    if (usedNanos <= 0 || weight == 0) {
      return;
    }
    add(word(lease, SchedulePage.USED), usedNanos);
    long at = word(lease, SchedulePage.VIRTUAL_TIME);
    long before = get(at);
    while (!WORD.compareAndSet(
        page, at, before, FairShares.virtualTime(before, virtualNow(), usedNanos, weight))) {
      before = get(at);
    }
    if (isHard(lease)) {
      at = word(lease, SchedulePage.NOT_BEFORE);
      before = get(at);
      while (!WORD.compareAndSet(
          page, at, before, FairShares.notBefore(before, nowNanos, usedNanos, weight))) {
        before = get(at);
      }
    }
  }

  /**
   * Notes that a lease is served. The GPU's virtual time does not pass a lease that had work just
   * before: one whose program is late by a moment would lose what it has yet to get, and wait for a
   * kernel of any length besides.
   */
  void serve(int lease, long nowNanos) {
    long time = virtualTime(lease);
    int count = count();
    for (int other = 0; other < count; other++) {
      if (other != lease && weight(other) > 0 && isActive(other, nowNanos - JUST_BEFORE_NANOS)) {
        time = Math.min(time, virtualTime(other));
      }
    }
    long now = virtualNow();
    while (time > now && !WORD.compareAndSet(page, (long) SchedulePage.VIRTUAL_NOW, now, time)) {
      now = virtualNow();
    }
  }

  void addWaited(int lease, long nanos) {
    add(word(lease, SchedulePage.WAITED), nanos);
  }

  void addThrottled(int lease, long nanos) {
    add(word(lease, SchedulePage.THROTTLED), nanos);
  }

  // Waits for a slice.

  int wakeCount(int lease) {
    return (int) WAKE_WORD.getVolatile(page, word(lease, SchedulePage.WAKE_COUNT));
  }

  void awaitWake(int lease, int seen, long timeoutNanos) {
    Futex.await(page.address() + word(lease, SchedulePage.WAKE_COUNT), seen, timeoutNanos);
  }

  void wake(int lease) {
    int ignored = (int) WAKE_WORD.getAndAdd(page, word(lease, SchedulePage.WAKE_COUNT), 1);
    Futex.wakeAll(page.address() + word(lease, SchedulePage.WAKE_COUNT));
  }

  private long get(long at) {
    return (long) WORD.getVolatile(page, at);
  }

  private void add(long at, long nanos) {
    long ignored = (long) WORD.getAndAdd(page, at, nanos);
  }

  private static long word(int lease, int word) {
    return SchedulePage.leaseWord(lease, word);
  }
}
