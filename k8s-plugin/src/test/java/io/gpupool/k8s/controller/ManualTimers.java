// SPDX-License-Identifier: Apache-2.0
package io.gpupool.k8s.controller;

import io.gpupool.runtime.Timers;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Optional;

/** Time that passes when a test says so. */
public final class ManualTimers implements Timers {
  private final List<Planned> planned = new ArrayList<>();
  private long nowNanos = 1;

  private record Planned(long atNanos, Runnable task) {}

  @Override
  public long nowNanos() {
    return nowNanos;
  }

  @Override
  public long wallMillis() {
    return now().toEpochMilli();
  }

  @Override
  public Instant now() {
    return Instant.EPOCH.plusNanos(nowNanos);
  }

  @Override
  public Cancellable after(long delayMillis, Runnable task) {
    return after(Duration.ofMillis(delayMillis), task);
  }

  @Override
  public Cancellable after(Duration delay, Runnable task) {
    Planned timer = new Planned(nowNanos + delay.toNanos(), task);
    planned.add(timer);
    return () -> planned.remove(timer);
  }

  public void pass(Duration time) {
    long untilNanos = nowNanos + time.toNanos();
    for (Optional<Planned> next = due(untilNanos); next.isPresent(); next = due(untilNanos)) {
      planned.remove(next.get());
      nowNanos = next.get().atNanos;
      next.get().task.run();
    }
    nowNanos = untilNanos;
  }

  private Optional<Planned> due(long untilNanos) {
    return planned.stream()
        .filter(timer -> timer.atNanos <= untilNanos)
        .min(Comparator.comparingLong(Planned::atNanos));
  }
}
