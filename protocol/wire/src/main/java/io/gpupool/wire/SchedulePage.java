// SPDX-License-Identifier: Apache-2.0
package io.gpupool.wire;

/**
 * Layout of the memory in which the workers of a GPU schedule its leases, shared by the pool-server
 * and its workers: one page a GPU, one after the other in a file. All words are little-endian and
 * changed by single atomic operations; times are nanoseconds of the system's monotonic clock.
 *
 * <pre>
 *   page    0: u64 timeSlice       lease number + 1 in the low byte (0: nobody's), above it when
 *                                  it began, in units of 1,024 ns
 *           8: u64 recall          the value of `timeSlice` that another recalls
 *          16: u64 virtualNow      how far the GPU's virtual time has come
 *          24: u64 leases          lease numbers that are or were taken: below this
 *          64: lease 0 | lease 1 | ... | lease 127
 *   lease   0: u64 weight          hundredths of a percent; 0: the number is free
 *           8: u64 hard            1: never more than its share
 *          16: u64 virtualTime     time used, times 10,000, by weight
 *          24: u64 notBefore       hard: when it may have a time slice again
 *          32: u64 used            nanoseconds in which the GPU was the lease's
 *          40: u64 waited          nanoseconds in which it had work and waited for its time slice
 *          48: u32 wakeCount       counts the time slices given to it; its workers wait on this word
 *          56: u64 sessions        session slots that are or were taken: below this
 *          64: u64 measured        nanoseconds of a driver's work, as the driver measured them
 *          72: u64 charged         how much of that is charged
 *          80: u64 latency         1: it serves requests and goes first while it has credit
 *          88: u64 throttled       of what it waited, while its own limit alone kept it from the GPU
 *         128: u64 activeUntil[64] until when each session is taken to have work
 *         640: u64 underWay[64]    until when it is taken to have submitted work that is not done
 * </pre>
 *
 * The pool-server writes weight, hard, latency, leases and sessions, and clears what a dead worker
 * left; workers write the rest. Where it changes a weight it changes with it how far virtualTime
 * and notBefore are ahead.
 */
public final class SchedulePage {
  public static final int MAX_LEASES = 128;
  public static final int MAX_SESSIONS = 64;

  public static final int TIME_SLICE = 0;
  public static final int RECALL = 8;
  public static final int VIRTUAL_NOW = 16;
  public static final int LEASES = 24;
  private static final int FIRST_LEASE = 64;

  public static final int WEIGHT = 0;
  public static final int HARD = 8;
  public static final int VIRTUAL_TIME = 16;
  public static final int NOT_BEFORE = 24;
  public static final int USED = 32;
  public static final int WAITED = 40;
  public static final int WAKE_COUNT = 48;
  public static final int SESSIONS = 56;
  public static final int MEASURED = 64;
  public static final int CHARGED = 72;
  public static final int LATENCY = 80;
  public static final int THROTTLED = 88;
  private static final int ACTIVE_UNTIL = 128;
  private static final int UNDER_WAY = ACTIVE_UNTIL + 8 * MAX_SESSIONS;
  private static final int LEASE_BYTES = UNDER_WAY + 8 * MAX_SESSIONS;

  /** Length of the page of one GPU. */
  public static final int BYTES = FIRST_LEASE + MAX_LEASES * LEASE_BYTES;

  /** The number of the lease whose time slice it is, plus one. */
  public static final long HOLDER_MASK = 0xff;

  private SchedulePage() {}

  /** Where a word of a lease is, from the start of its GPU's page. */
  public static int leaseWord(int lease, int word) {
    return FIRST_LEASE + lease * LEASE_BYTES + word;
  }

  /** Where the word of one of its sessions is. */
  public static int activeUntil(int lease, int session) {
    return leaseWord(lease, ACTIVE_UNTIL + 8 * session);
  }

  /** Where the word is that says until when one of its sessions has work under way. */
  public static int underWay(int lease, int session) {
    return leaseWord(lease, UNDER_WAY + 8 * session);
  }
}
