// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.control;

import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executor;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.ScheduledFuture;
import java.util.concurrent.ScheduledThreadPoolExecutor;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The one thread that owns leases, sessions and workers; nothing on it may block, except that it
 * may {@link #await} what is written down elsewhere.
 */
public final class ControlThread implements Executor, Timers {
  private static final Logger LOG = LoggerFactory.getLogger(ControlThread.class);
  private static final Runnable WAKE = () -> {};

  private final ScheduledThreadPoolExecutor thread;
  private final BlockingQueue<Runnable> looks = new LinkedBlockingQueue<>();
  private volatile long threadId;
  private boolean awaiting;

  public ControlThread() {
    thread =
        new ScheduledThreadPoolExecutor(
            1,
            task -> {
              Thread made = new Thread(task, "gpupool-control");
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

  /**
   * Runs what writes nothing down on the same thread, even while that awaits something: then what
   * such a task sees is a change in the making, of which nothing is written yet or all is.
   */
  public Executor readOnlyExecutor() {
    return task -> {
      looks.add(logged(task));
      thread.execute(this::runReadOnlyTasks);
    };
  }

  private void runReadOnlyTasks() {
    for (Runnable task = looks.poll(); task != null; task = looks.poll()) {
      task.run();
      if (task != WAKE) {
        return;
      }
    }
  }

  /** Waits until it is done, with whatever outcome; on this thread, those who look are let in. */
  void await(CompletableFuture<?> done) {
    CompletableFuture<?> over = done.handle((result, failure) -> looks.add(WAKE));
    if (!isThisThread()) {
      over.join();
      return;
    }
    awaiting = true;
    try {
      while (!done.isDone()) {
        looks.take().run();
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      over.join();
    } finally {
      awaiting = false;
    }
  }

  /** Whether it is this thread, and awaits something. */
  boolean isAwaiting() {
    return isThisThread() && awaiting;
  }

  private boolean isThisThread() {
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

  public void stop() {
    thread.shutdown();
  }

  private static Runnable logged(Runnable task) {
    return () -> {
      try {
        task.run();
      } catch (RuntimeException | Error e) {
        LOG.error("a control task failed", e);
      }
    };
  }
}
