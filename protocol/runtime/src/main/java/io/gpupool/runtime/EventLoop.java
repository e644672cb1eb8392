// SPDX-License-Identifier: Apache-2.0
package io.gpupool.runtime;

import java.util.concurrent.Executor;
import java.util.concurrent.ScheduledFuture;
import java.util.concurrent.ScheduledThreadPoolExecutor;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A thread that runs tasks one after the other, and owns what they share. A task that fails is
 * logged; one that comes after the end is not run. For any thread.
 */
public final class EventLoop implements Timers, Executor, AutoCloseable {
  private static final Logger LOG = LoggerFactory.getLogger(EventLoop.class);
  private static final long END_SECONDS = 5;

  private final String name;
  private final ScheduledThreadPoolExecutor thread;
  private volatile long threadId;

  /** Starts its thread, which is a daemon of this name, with the first task. */
  public EventLoop(String name) {
    this.name = name;
    thread =
        new ScheduledThreadPoolExecutor(
            1,
            task -> {
              Thread made = new Thread(task, name);
              made.setDaemon(true);
              threadId = made.threadId();
              return made;
            },
            new ThreadPoolExecutor.DiscardPolicy());
    thread.setRemoveOnCancelPolicy(true);
    thread.setExecuteExistingDelayedTasksAfterShutdownPolicy(false);
  }

  @Override
  public void execute(Runnable task) {
    thread.execute(logged(task));
  }

  /** Returns whether the caller is a task of this loop. */
  public boolean isThisThread() {
    return Thread.currentThread().threadId() == threadId;
  }

  @Override
  public long nowNanos() {
    return System.nanoTime();
  }

  @Override
  public long wallMillis() {
    return System.currentTimeMillis();
  }

  @Override
  public Cancellable after(long delayMillis, Runnable task) {
    ScheduledFuture<?> planned = thread.schedule(logged(task), delayMillis, TimeUnit.MILLISECONDS);
    return () -> planned.cancel(false);
  }

  /** Returns a task whose failure is logged. */
  public Runnable logged(Runnable task) {
    return () -> {
      try {
        task.run();
      } catch (RuntimeException | Error e) {
        LOG.error("a task of {} failed", name, e);
      }
    };
  }

  /** Ends once what was to run at once has run, without waiting for that. */
  public void stop() {
    thread.shutdown();
  }

  /** Ends, and waits a few seconds until what was to run at once has run. */
  @Override
  public void close() {
    stop();
    try {
      if (!thread.awaitTermination(END_SECONDS, TimeUnit.SECONDS)) {
        thread.shutdownNow();
      }
    } catch (InterruptedException e) {
      thread.shutdownNow();
      Thread.currentThread().interrupt();
    }
  }
}
