// SPDX-License-Identifier: Apache-2.0
package io.gpupool.k8s.deviceplugin;

import java.time.Duration;

/** When something may be tried again: after a delay that doubles with each time. Of one thread. */
final class BackOff {
  private final long firstNanos;
  private final long longestNanos;
  private long delayNanos;
  private long againAtNanos;
  private boolean waiting;

  BackOff(Duration first, Duration longest) {
    firstNanos = first.toNanos();
    longestNanos = Math.max(firstNanos, longest.toNanos());
    delayNanos = firstNanos;
  }

  boolean isDue(long nowNanos) {
    return !waiting || nowNanos - againAtNanos >= 0;
  }

  void tried(long nowNanos) {
    waiting = true;
    againAtNanos = nowNanos + delayNanos;
    delayNanos = Math.min(2 * delayNanos, longestNanos);
  }

  /** The next time may be at once. */
  void reset() {
    waiting = false;
    delayNanos = firstNanos;
  }
}
