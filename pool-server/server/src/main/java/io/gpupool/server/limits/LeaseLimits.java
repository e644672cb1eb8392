// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.limits;

/**
 * When a lease ends by itself.
 *
 * @param idleMillis after so long without work of its programs, although its holder lives; 0: never
 * @param timeMillis so long after it was granted, although its holder lives; 0: never
 * @param graceMillis after so long without its holder and any program; 0: after the usual while
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

  private static void check(String what, long millis, long leastMillis) {
    if (millis != 0 && (millis < leastMillis || millis > MAX_MILLIS)) {
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
