// SPDX-License-Identifier: Apache-2.0
package io.gpupool.k8s.dra;

import java.time.Duration;
import java.util.HashMap;
import java.util.Map;
import java.util.function.LongSupplier;

/**
 * The limit on how often a pod gets the same event; Kubernetes may change a claim back and forth
 * many times a second. Owned by the driver's thread.
 */
final class EventLimit {
  static final Duration PERIOD = Duration.ofMinutes(10);

  private record Event(String pod, String reason, String message) {}

  private final LongSupplier nowNanos;
  private final Map<Event, Long> writtenAtNanos = new HashMap<>();

  EventLimit() {
    this(System::nanoTime);
  }

  EventLimit(LongSupplier nowNanos) {
    this.nowNanos = nowNanos;
  }

  /** Returns whether an event may be written, which then counts as written. */
  boolean admits(String podUid, String reason, String message) {
    long now = nowNanos.getAsLong();
    writtenAtNanos.values().removeIf(at -> now - at >= PERIOD.toNanos());
    return writtenAtNanos.putIfAbsent(new Event(podUid, reason, message), now) == null;
  }
}
