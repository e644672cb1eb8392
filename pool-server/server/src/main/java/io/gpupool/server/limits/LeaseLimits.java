// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.limits;

/**
 * The limits at which a lease ends by itself.
 *
 * @param idleMillis time without work of its programs, even if its holder is alive; 0: no limit
 * @param timeMillis time since it was granted, even if its holder is alive; 0: no limit
 * @param graceMillis time without its holder and any program; 0: the default
 */
public record LeaseLimits(long idleMillis, long timeMillis, long graceMillis) {
  public static final LeaseLimits NONE = new LeaseLimits(0, 0);
  public static final long MIN_IDLE_MILLIS = 5000;
  public static final long MIN_TIME_MILLIS = 1000;
  public static final long MIN_GRACE_MILLIS = 1000;
  public static final long MAX_MILLIS = 366L * 24 * 3600 * 1000;

  /**
   * Checks all.
   *
   * @throws IllegalArgumentException if one cannot be kept; the message is for people
   */
  public LeaseLimits {
    check("idle timeout", idleMillis, MIN_IDLE_MILLIS);
    check("time limit", timeMillis, MIN_TIME_MILLIS);
    check("grace", graceMillis, MIN_GRACE_MILLIS);
  }

  /** With the usual grace. */
  public LeaseLimits(long idleMillis, long timeMillis) {
    this(idleMillis, timeMillis, 0);
  }

  /** Returns whether a limit can be kept. */
  public static boolean isAllowed(long millis, long leastMillis) {
    return millis == 0 || millis >= leastMillis && millis <= MAX_MILLIS;
  }

  private static void check(String what, long millis, long leastMillis) {
    if (!isAllowed(millis, leastMillis)) {
      throw new IllegalArgumentException(
          "the "
              + what
              + " is "
              + (millis < 0 ? "over 366 days" : millis + " ms")
              + "; give "
              + leastMillis / 1000
              + " s to 366 days");
    }
  }
}
