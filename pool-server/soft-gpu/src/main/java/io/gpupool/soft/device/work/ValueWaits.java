// SPDX-License-Identifier: Apache-2.0
package io.gpupool.soft.device.work;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import java.util.function.BooleanSupplier;

/**
 * Works that wait for a value in memory, which anything may write: a thread looks at them all every
 * so often, while there are any. Any thread may add.
 */
public final class ValueWaits {
  private static final long PERIOD_NANOS = TimeUnit.MICROSECONDS.toNanos(50);

  private final Scheduler scheduler;
  private final List<Waiting> waiting = new ArrayList<>();
  private boolean running;

  private record Waiting(BooleanSupplier reached, Work work) {}

  public ValueWaits(Scheduler scheduler) {
    this.scheduler = scheduler;
  }

  /**
   * Finishes a work when it need not wait any more.
   *
   * @param reached asked again and again; must be short
   */
  public synchronized void add(BooleanSupplier reached, Work work) {
    waiting.add(new Waiting(reached, work));
    // What brings the value may have to be submitted by a thread that would be blocked.
    scheduler.addHostFunctions(1);
    if (!running) {
      running = true;
      Thread thread = new Thread(this::check, "soft-value-waits");
      thread.setDaemon(true);
      thread.start();
    }
  }

  private void check() {
    while (true) {
      List<Waiting> done = takeReached();
      for (Waiting one : done) {
        scheduler.addHostFunctions(-1);
        scheduler.finish(one.work);
      }
      if (done.isEmpty() && isOver()) {
        return;
      }
      LockSupport.parkNanos(PERIOD_NANOS);
    }
  }

  private synchronized List<Waiting> takeReached() {
    List<Waiting> done = waiting.stream().filter(one -> one.reached.getAsBoolean()).toList();
    waiting.removeAll(done);
    return done;
  }

  /** Looks at no memory any more; what waits is dropped with its devices. */
  public synchronized void close() {
    waiting.clear();
  }

  private synchronized boolean isOver() {
    running = !waiting.isEmpty();
    return !running;
  }
}
