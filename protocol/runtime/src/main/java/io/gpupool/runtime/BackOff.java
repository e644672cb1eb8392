// SPDX-License-Identifier: Apache-2.0
package io.gpupool.runtime;

import java.time.Duration;
import java.util.function.DoubleSupplier;
import java.util.random.RandomGenerator;

/** Pauses between attempts: each is twice as long as the one before, up to the longest. */
public final class BackOff {
  private final long firstNanos;
  private final long longestNanos;
  private final DoubleSupplier part;
  private long pauseNanos;
  private long againAtNanos;
  private boolean waiting;

  private BackOff(Duration first, Duration longest, DoubleSupplier part) {
    firstNanos = first.toNanos();
    longestNanos = Math.max(firstNanos, longest.toNanos());
    this.part = part;
    pauseNanos = firstNanos;
  }

  /** Returns pauses of exactly these lengths. */
  public static BackOff exact(Duration first, Duration longest) {
    return new BackOff(first, longest, () -> 1);
  }

  /**
   * Returns pauses that are shortened by up to a half at random, so that many do not retry
   * together.
   */
  public static BackOff jittered(Duration first, Duration longest, RandomGenerator random) {
    return new BackOff(first, longest, () -> 1 - random.nextDouble() / 2);
  }

  /** Returns the pause before the next attempt; the one after that is longer. */
  public Duration next() {
    Duration pause = current();
    pauseNanos = Math.min(2 * pauseNanos, longestNanos);
    return pause;
  }

  /** Returns the pause without counting an attempt, such as for a look at something unknown yet. */
  public Duration current() {
    return Duration.ofNanos(Math.round(pauseNanos * part.getAsDouble()));
  }

  /** Notes an attempt; the next is due after a pause. */
  public void tried(long nowNanos) {
    waiting = true;
    againAtNanos = nowNanos + next().toNanos();
  }

  /** Returns whether an attempt is due. */
  public boolean isDue(long nowNanos) {
    return !waiting || nowNanos - againAtNanos >= 0;
  }

  /** Begins anew: an attempt is due at once, and the next pause is the first. */
  public void reset() {
    waiting = false;
    pauseNanos = firstNanos;
  }
}
