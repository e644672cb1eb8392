// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.limits;

/**
 * The limits at which a lease, or a session of it, ends by itself.
 *
 * @param idleMillis time without work of its programs, even if its holder is alive; 0: no limit
 * @param timeMillis time since it was granted, even if its holder is alive; 0: no limit
 * @param graceMillis time without its holder and any program; 0: the default
 * @param resumeWindowMillis time that its sessions outlive a broken connection; 0: none
 * @param suspendIdleMillis time without work of its programs after which it is suspended; 0: never
 */
public record LeaseLimits(
    long idleMillis,
    long timeMillis,
    long graceMillis,
    long resumeWindowMillis,
    long suspendIdleMillis) {
  /** No limits, and no resume window either. */
  public static final LeaseLimits NONE = new LeaseLimits(0, 0, 0, 0);

  public static final long MIN_IDLE_MILLIS = 5000;
  public static final long MIN_TIME_MILLIS = 1000;
  public static final long MIN_GRACE_MILLIS = 1000;
  public static final long MIN_SUSPEND_IDLE_MILLIS = 1000;
  public static final long DEFAULT_RESUME_WINDOW_MILLIS = 60_000;
  public static final long MAX_RESUME_WINDOW_MILLIS = 3600 * 1000;
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
    if (!isResumeWindow(resumeWindowMillis)) {
      throw new IllegalArgumentException(
          "the resume window is " + resumeWindowMillis + " ms; give 0 to an hour");
    }
    check("time until it is suspended", suspendIdleMillis, MIN_SUSPEND_IDLE_MILLIS);
    if (suspendIdleMillis > 0 && resumeWindowMillis == 0) {
      throw new IllegalArgumentException(
          "only leases with a resume window are suspended, as their programs outlive their"
              + " connections");
    }
  }

  /** With the default grace and resume window. */
  public LeaseLimits(long idleMillis, long timeMillis) {
    this(idleMillis, timeMillis, 0);
  }

  /** Never suspended. */
  public LeaseLimits(long idleMillis, long timeMillis, long graceMillis, long resumeWindowMillis) {
    this(idleMillis, timeMillis, graceMillis, resumeWindowMillis, 0);
  }

  /** With the default resume window. */
  public LeaseLimits(long idleMillis, long timeMillis, long graceMillis) {
    this(idleMillis, timeMillis, graceMillis, DEFAULT_RESUME_WINDOW_MILLIS);
  }

  /** Returns whether a limit can be kept. */
  public static boolean isAllowed(long millis, long leastMillis) {
    return millis == 0 || millis >= leastMillis && millis <= MAX_MILLIS;
  }

  /** Returns whether sessions can outlive a broken connection for so long. */
  public static boolean isResumeWindow(long millis) {
    return millis >= 0 && millis <= MAX_RESUME_WINDOW_MILLIS;
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
