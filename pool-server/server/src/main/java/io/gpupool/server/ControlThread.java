// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server;

import java.util.concurrent.Executor;
import java.util.concurrent.ScheduledFuture;
import java.util.concurrent.ScheduledThreadPoolExecutor;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** The one thread that owns leases, sessions and workers; nothing on it may block. */
final class ControlThread implements Executor, Timers {
  private static final Logger LOG = LoggerFactory.getLogger(ControlThread.class);

  private final ScheduledThreadPoolExecutor thread;

  ControlThread() {
    thread =
        new ScheduledThreadPoolExecutor(
            1,
            task -> {
              Thread made = new Thread(task, "gpupool-control");
              made.setDaemon(true);
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

  void stop() {
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
