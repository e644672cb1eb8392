// SPDX-License-Identifier: Apache-2.0
package io.gpupool.k8s.controller;

import java.time.Duration;
import java.util.random.RandomGenerator;

/** How long to wait until something is tried again: doubles each time, half of it by chance. */
final class Pause {
  private final Duration first;
  private final Duration longest;
  private final RandomGenerator random;
  private Duration next;

  Pause(Duration first, Duration longest, RandomGenerator random) {
    this.first = first;
    this.longest = longest;
    this.random = random;
    next = first;
  }

  Duration next() {
    Duration half = next.dividedBy(2);
    Duration pause = half.plusNanos(random.nextLong(half.toNanos() + 1));
    Duration doubled = next.multipliedBy(2);
    next = doubled.compareTo(longest) < 0 ? doubled : longest;
    return pause;
  }

  void reset() {
    next = first;
  }
}
