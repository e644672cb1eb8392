// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.control;

import io.gpupool.runtime.EventLoop;
import io.gpupool.runtime.Timers;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executor;
import java.util.concurrent.LinkedBlockingQueue;

/**
 * The one thread that owns leases, sessions and workers. Nothing on it may block, except that it
 * may {@link #await} what is written elsewhere.
 */
public final class ControlThread implements Executor, Timers {
  private static final Runnable WAKE = () -> {};

  private final EventLoop loop = new EventLoop("gpupool-control");
  private final BlockingQueue<Runnable> looks = new LinkedBlockingQueue<>();
  private boolean awaiting;

  @Override
  public void execute(Runnable task) {
    loop.execute(task);
  }

  /**
   * Runs what writes nothing down on the same thread, even while that awaits something: then what
   * such a task sees is a change in the making, of which nothing is written yet or all is.
   */
  public Executor readOnlyExecutor() {
    return task -> {
      looks.add(loop.logged(task));
      loop.execute(this::runReadOnlyTasks);
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
    if (!loop.isThisThread()) {
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
    return loop.isThisThread() && awaiting;
  }

  @Override
  public long nowNanos() {
    return loop.nowNanos();
  }

  @Override
  public long wallMillis() {
    return loop.wallMillis();
  }

  @Override
  public Cancellable after(long delayMillis, Runnable task) {
    return loop.after(delayMillis, task);
  }

  public void stop() {
    loop.stop();
  }
}
