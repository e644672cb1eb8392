// SPDX-License-Identifier: Apache-2.0
package io.gpupool.soft.device.work;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import org.jspecify.annotations.Nullable;

/**
 * One operation in the order of things: it starts when all that it follows is done. Its links
 * belong to the {@link Scheduler} and are guarded by the scheduler's lock.
 */
public abstract class Work implements Completion {
  private final Scheduler scheduler;

  /** How many works it still has to wait for. */
  int unmet;

  /** Works that wait for this one; null before the first. */
  @Nullable List<Work> successors;

  /** To be run when this is done; null before the first. */
  @Nullable List<Runnable> listeners;

  /** Written under the scheduler's lock, read by anyone. */
  volatile boolean done;

  public Work(Scheduler scheduler) {
    this.scheduler = scheduler;
  }

  /**
   * Does the operation, or begins it.
   *
   * @return whether it is over; if not, {@link Scheduler#finish} must be called when it is
   */
  protected abstract boolean start();

  /** Whether {@link #start} is short enough for any thread, and never waits. */
  protected boolean isShort() {
    return true;
  }

  /** Whether it reads or writes device memory while it runs. */
  protected boolean touchesMemory() {
    return false;
  }

  void addSuccessor(Work work) {
    if (successors == null) {
      successors = new ArrayList<>(2);
    }
    successors.add(work);
  }

  @Override
  public final boolean isDone() {
    return done;
  }

  @Override
  public final void whenDone(Runnable action) {
    if (!scheduler.addListener(this, action)) {
      action.run();
    }
  }

  @Override
  public final void await() throws InterruptedException {
    if (!done) {
      CountDownLatch latch = new CountDownLatch(1);
      whenDone(latch::countDown);
      latch.await();
    }
  }
}
