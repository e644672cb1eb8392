// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.limits;

import io.gpupool.wire.ElapsedTime;
import java.util.Optional;
import java.util.OptionalLong;

/**
 * A clock that tells when a lease has reached one of its limits. Its owner notes the lease's
 * activity periodically. Owned by one thread.
 */
public final class LeaseClock {
  private static final long NANOS_PER_MILLI = 1_000_000;

  /** In an idle timeout there are so many looks at what a lease does. */
  private static final int LOOKS = 8;

  private static final long MIN_LOOK_MILLIS = 500;
  private static final long MAX_LOOK_MILLIS = 30_000;

  private final LeaseLimits limits;
  private final long grantedAtNanos;
  private long activeAtNanos;
  private long done;

  /**
   * Starts to watch a lease; it counts as active now.
   *
   * @param grantedAtNanos when it was granted, which may be before this server's start
   */
  public LeaseClock(LeaseLimits limits, long grantedAtNanos, long nowNanos) {
    this.limits = limits;
    this.grantedAtNanos = grantedAtNanos;
    activeAtNanos = nowNanos;
  }

  public LeaseLimits limits() {
    return limits;
  }

  /**
   * Notes what the lease has done.
   *
   * @param total any figure that changes whenever the lease does something
   * @param busy whether something is under way
   */
  public void note(long total, boolean busy, long nowNanos) {
    if (busy || total != done) {
      done = total;
      activeAtNanos = nowNanos;
    }
  }

  /** Notes that the lease did something elsewhere so long ago. */
  public void noteElsewhere(long idleMillis, long nowNanos) {
    activeAtNanos = Math.max(activeAtNanos, nowNanos - idleMillis * NANOS_PER_MILLI);
  }

  public long idleMillis(long nowNanos) {
    return Math.max(0, (nowNanos - activeAtNanos) / NANOS_PER_MILLI);
  }

  /** Why the lease is over, if it is. */
  public Optional<String> over(long nowNanos) {
    if (limits.timeMillis() > 0 && ageMillis(nowNanos) >= limits.timeMillis()) {
      return Optional.of(
          "its time limit of " + new ElapsedTime(limits.timeMillis()) + " is reached");
    }
    if (limits.idleMillis() > 0 && idleMillis(nowNanos) >= limits.idleMillis()) {
      return Optional.of("it was idle for " + new ElapsedTime(limits.idleMillis()));
    }
    return Optional.empty();
  }

  /** In how many milliseconds to look again; empty if there is no limit. */
  public OptionalLong nextLookMillis(long nowNanos) {
    long next = Long.MAX_VALUE;
    if (limits.timeMillis() > 0) {
      next = limits.timeMillis() - ageMillis(nowNanos);
    }
    if (limits.idleMillis() > 0) {
      long look = Math.clamp(limits.idleMillis() / LOOKS, MIN_LOOK_MILLIS, MAX_LOOK_MILLIS);
      next = Math.min(next, Math.min(look, limits.idleMillis() - idleMillis(nowNanos)));
    }
    return next == Long.MAX_VALUE ? OptionalLong.empty() : OptionalLong.of(Math.max(1, next));
  }

  private long ageMillis(long nowNanos) {
    return (nowNanos - grantedAtNanos) / NANOS_PER_MILLI;
  }
}
