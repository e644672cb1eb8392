// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker.session.collective;

import com.google.errorprone.annotations.concurrent.GuardedBy;
import io.gpupool.nccl.NcclException;
import java.util.ArrayDeque;
import java.util.List;
import java.util.Queue;
import java.util.function.BooleanSupplier;
import org.jspecify.annotations.Nullable;

/** The tasks of a rank's thread, and the result of the rank so far. Any thread may use it. */
final class NcclTasks {
  private static final long LOOK_MILLIS = 100;
  private static final long ENDING_LOOK_MILLIS = 2;

  @GuardedBy("this")
  private final Queue<Entry> entries = new ArrayDeque<>();

  @GuardedBy("this")
  private int result = NcclResult.IN_PROGRESS;

  @GuardedBy("this")
  private String error = "";

  @GuardedBy("this")
  private boolean isComplete;

  @GuardedBy("this")
  private byte @Nullable [] uniqueId;

  /** Tasks that are not done, the one that is under way among them. */
  @GuardedBy("this")
  private int undone;

  @GuardedBy("this")
  private boolean isEnding;

  private record Entry(Task task, Runnable failed) {}

  /** A task that may wait for other ranks. */
  interface Task {
    void run() throws NcclException;
  }

  synchronized int result() {
    return result;
  }

  synchronized String error() {
    return error;
  }

  synchronized byte @Nullable [] uniqueId() {
    return uniqueId;
  }

  synchronized boolean isBusy() {
    return undone > 0;
  }

  synchronized boolean isUsable() {
    return !isEnding && result != NcclResult.IN_PROGRESS;
  }

  /**
   * Adds a task, which says when it is {@link #done}.
   *
   * @param failed told if it is never run
   */
  void add(Task task, Runnable failed) {
    boolean isAdded;
    synchronized (this) {
      isAdded = result == NcclResult.SUCCESS && !isEnding;
      if (isAdded) {
        entries.add(new Entry(task, failed));
        undone++;
        notifyAll();
      }
    }
    if (!isAdded) {
      failed.run();
    }
  }

  synchronized void done() {
    undone--;
  }

  /** All ranks are there. */
  synchronized void complete(byte @Nullable [] id) {
    isComplete = true;
    uniqueId = id;
    notifyAll();
  }

  /** NCCL has begun; returns whether it may. */
  synchronized boolean begun() {
    if (result == NcclResult.IN_PROGRESS) {
      result = NcclResult.SUCCESS;
    }
    return result == NcclResult.SUCCESS;
  }

  synchronized void end() {
    isEnding = true;
    notifyAll();
  }

  /** Fails; returns what is to be told those that never run, null: it had failed already. */
  synchronized @Nullable List<Runnable> fail(int failure, String reason) {
    if (result != NcclResult.SUCCESS && result != NcclResult.IN_PROGRESS) {
      return null;
    }
    result = failure;
    error = reason;
    List<Runnable> rest = entries.stream().map(Entry::failed).toList();
    entries.clear();
    notifyAll();
    return rest;
  }

  /** Waits until all ranks are there; returns false if it has failed meanwhile. */
  synchronized boolean awaitComplete() throws NcclException {
    long endNanos = System.nanoTime() + Collectives.BEGIN_MILLIS * 1_000_000;
    while (!isComplete && result == NcclResult.IN_PROGRESS) {
      long leftMillis = (endNanos - System.nanoTime()) / 1_000_000;
      if (leftMillis <= 0) {
        throw new NcclException(RankThread.late(Collectives.BEGIN_MILLIS));
      }
      boolean ignored = pause(leftMillis);
    }
    return result == NcclResult.IN_PROGRESS;
  }

  /** Returns whether nothing is left to do: it has failed, or ends with all calls complete. */
  boolean isOver(BooleanSupplier areCallsComplete) {
    boolean isLast;
    synchronized (this) {
      if (result != NcclResult.SUCCESS) {
        return true;
      }
      isLast = isEnding && entries.isEmpty();
    }
    return isLast && areCallsComplete.getAsBoolean();
  }

  /** Returns the next task; null if there is none for a while. */
  synchronized @Nullable Task next() {
    if (entries.isEmpty() && result == NcclResult.SUCCESS) {
      boolean ignored = pause(isEnding ? ENDING_LOOK_MILLIS : LOOK_MILLIS);
    }
    Entry entry = entries.poll();
    return entry == null ? null : entry.task();
  }

  /** Waits for a change; returns true. */
  synchronized boolean pause(long millis) {
    try {
      wait(millis);
    } catch (InterruptedException e) {
      throw new IllegalStateException("a thread of a rank was interrupted", e);
    }
    return true;
  }
}
