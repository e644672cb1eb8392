// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.control;

import io.gpupool.runtime.Timers;
import java.util.concurrent.Executor;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.LongSupplier;

/**
 * A task of the control thread that many events ask for, and that runs once for all that come
 * before it does. Any thread may ask for it.
 */
public final class CoalescedTask implements Runnable {
  private final Executor control;
  private final Timers timers;
  private final LongSupplier delayMillis;
  private final Runnable task;
  private final AtomicBoolean isPlanned = new AtomicBoolean();

  /**
   * Runs nothing yet.
   *
   * @param delayMillis the time from the first event to the run, asked for at that event
   */
  public CoalescedTask(Executor control, Timers timers, LongSupplier delayMillis, Runnable task) {
    this.control = control;
    this.timers = timers;
    this.delayMillis = delayMillis;
    this.task = task;
  }

  /** A task that runs a moment after the first event. */
  public CoalescedTask(Executor control, Timers timers, Runnable task) {
    this(control, timers, () -> 0, task);
  }

  @Override
  public void run() {
    if (isPlanned.compareAndSet(false, true)) {
      control.execute(() -> timers.after(delayMillis.getAsLong(), this::runTask));
    }
  }

  private void runTask() {
    isPlanned.set(false);
    task.run();
  }
}
