// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.control;

import io.gpupool.runtime.Timers;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import org.jspecify.annotations.Nullable;

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
    return nowNanos / 1_000_000;
  }

  @Override
  public Cancellable after(long delayMillis, Runnable task) {
    Planned timer = new Planned(nowNanos + delayMillis * 1_000_000, task);
    planned.add(timer);
    return () -> planned.remove(timer);
  }

  public void pass(long millis) {
    long untilNanos = nowNanos + millis * 1_000_000;
    for (Planned next = due(untilNanos); next != null; next = due(untilNanos)) {
      planned.remove(next);
      nowNanos = next.atNanos;
      next.task.run();
    }
    nowNanos = untilNanos;
  }

  private @Nullable Planned due(long untilNanos) {
    return planned.stream()
        .filter(p -> p.atNanos <= untilNanos)
        .min(Comparator.comparingLong(Planned::atNanos))
        .orElse(null);
  }
}
