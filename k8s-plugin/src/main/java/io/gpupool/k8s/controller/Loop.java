// SPDX-License-Identifier: Apache-2.0
package io.gpupool.k8s.controller;

import java.time.Duration;
import java.time.Instant;
import java.util.concurrent.Executor;
import java.util.concurrent.Future;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.ScheduledThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** The one thread that owns what the controller knows. Used by any thread. */
final class Loop implements Timers, Executor, AutoCloseable {
  private static final Logger LOG = LoggerFactory.getLogger(Loop.class);

  private final ScheduledThreadPoolExecutor thread =
      new ScheduledThreadPoolExecutor(
          1,
          task -> {
            Thread made = new Thread(task, "gpupool-leases");
            made.setDaemon(true);
            return made;
          });

  Loop() {
    thread.setRemoveOnCancelPolicy(true);
    thread.setExecuteExistingDelayedTasksAfterShutdownPolicy(false);
  }

  @Override
  public long nowNanos() {
    return System.nanoTime();
  }

  @Override
  public Instant now() {
    return Instant.now();
  }

  @Override
  public Cancellable after(Duration delay, Runnable task) {
    try {
      Future<?> planned = thread.schedule(() -> run(task), delay.toNanos(), TimeUnit.NANOSECONDS);
      return () -> planned.cancel(false);
    } catch (RejectedExecutionException e) {
      return Cancellable.NOTHING;
    }
  }

  /** What comes after the end is not done any more. */
  @Override
  public void execute(Runnable task) {
    try {
      thread.execute(() -> run(task));
    } catch (RejectedExecutionException e) {
      LOG.trace("the controller has ended");
    }
  }

  private static void run(Runnable task) {
    try {
      task.run();
    } catch (RuntimeException e) {
      LOG.error("the controller of leases goes on after a mistake of its own", e);
    }
  }

  /** Ends once what is planned for now is done. */
  @Override
  public void close() {
    thread.shutdown();
    try {
      if (!thread.awaitTermination(5, TimeUnit.SECONDS)) {
        thread.shutdownNow();
      }
    } catch (InterruptedException e) {
      thread.shutdownNow();
      Thread.currentThread().interrupt();
    }
  }
}
