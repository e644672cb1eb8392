// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker.session.collective;

import com.google.errorprone.annotations.concurrent.GuardedBy;
import java.util.ArrayDeque;
import java.util.List;
import java.util.Optional;
import java.util.Queue;
import org.jspecify.annotations.Nullable;

/**
 * The steps of a rank in the order in which the program made them, and the result of the rank so
 * far. Steps may be added while there is no failure. Any thread may use it.
 */
final class RankSteps {
  @GuardedBy("this")
  private final Queue<Step> steps = new ArrayDeque<>();

  @GuardedBy("this")
  private int result = NcclResult.IN_PROGRESS;

  @GuardedBy("this")
  private String error = "";

  /** Steps that are not complete, those in the queue among them. */
  @GuardedBy("this")
  private long pending;

  @GuardedBy("this")
  private boolean isEnding;

  synchronized int result() {
    return result;
  }

  synchronized String error() {
    return error;
  }

  synchronized long pending() {
    return pending;
  }

  /**
   * Returns whether the program has made no end of it, and all ranks are there or it has failed.
   */
  synchronized boolean isUsable() {
    return !isEnding && result != NcclResult.IN_PROGRESS;
  }

  /** All ranks are there. */
  synchronized void complete() {
    if (result == NcclResult.IN_PROGRESS) {
      result = NcclResult.SUCCESS;
      notifyAll();
    }
  }

  /** Has no steps any more after those that were added. */
  synchronized void end() {
    isEnding = true;
    notifyAll();
  }

  /** Adds a step; returns whether it will be over, done or not. */
  synchronized boolean add(Step step) {
    boolean isAdded = result == NcclResult.SUCCESS && !isEnding;
    if (isAdded) {
      steps.add(step);
      pending++;
      notifyAll();
    }
    return isAdded;
  }

  /** A step may have become ready. */
  synchronized void changed() {
    notifyAll();
  }

  /** Ends a step that was added. */
  void over(Step step) {
    step.over();
    synchronized (this) {
      pending--;
    }
  }

  /**
   * Fails, unless it has failed already.
   *
   * @return the steps that are never carried out; none: it had failed
   */
  synchronized Optional<List<Step>> fail(int failure, String reason) {
    if (result != NcclResult.SUCCESS && result != NcclResult.IN_PROGRESS) {
      return Optional.empty();
    }
    result = failure;
    error = reason;
    List<Step> rest = List.copyOf(steps);
    steps.clear();
    notifyAll();
    return Optional.of(rest);
  }

  /**
   * Waits until all ranks are there, or it has failed or is to end; returns whether that took too
   * long.
   */
  synchronized boolean isLate(long limitMillis) {
    long endNanos = System.nanoTime() + limitMillis * 1_000_000;
    while (result == NcclResult.IN_PROGRESS && !isEnding) {
      long leftMillis = (endNanos - System.nanoTime()) / 1_000_000;
      if (leftMillis <= 0) {
        return true;
      }
      pause(leftMillis);
    }
    return false;
  }

  /** Returns the next step when it is ready; null: there is none any more. */
  synchronized @Nullable Step next() {
    while (true) {
      Step step = steps.peek();
      boolean isFailed = result != NcclResult.SUCCESS;
      if (isFailed || step == null && isEnding) {
        return null;
      }
      if (step != null && step.isReady()) {
        return steps.remove();
      }
      pause(0);
    }
  }

  @GuardedBy("this")
  private void pause(long millis) {
    try {
      wait(millis);
    } catch (InterruptedException e) {
      throw new IllegalStateException("a rank's thread was interrupted", e);
    }
  }
}
