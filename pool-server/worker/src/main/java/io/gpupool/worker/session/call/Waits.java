// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker.session.call;

import io.gpupool.cuda.Backend;
import io.gpupool.worker.session.SessionPlan;
import io.gpupool.worker.session.core.Answers;
import io.gpupool.worker.session.core.ContextState;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ExecutorService;
import org.jspecify.annotations.Nullable;

/**
 * The calls that cannot be answered yet, in the order of the stream. The session's thread asks
 * between frames and, before it blocks, hands each wait to a waiting thread. Guarded by the
 * answers' lock.
 */
public final class Waits {
  /** Waits beyond this are refused; a program has as many as it has threads and pending copies. */
  public static final int MAX_WAITS = 1 << 14;

  /*
   * A fence's answer tells the client that the copies before it are complete, so their bytes must be
   * sent first. A copy before the fence may be found incomplete, then complete together with the
   * fence; hence all copies are asked once more between finding a fence complete and answering it.
   */
  private final Backend backend;
  private final Answers answers;
  private final ExecutorService threads;
  private final @Nullable Runnable driverOutput;
  private final List<Wait> waits = new ArrayList<>();
  private volatile int count;

  /**
   * Makes an empty set.
   *
   * @param threads where waiting threads come from
   * @param driverOutput sends what the driver printed; see {@link SessionPlan}
   */
  public Waits(
      Backend backend, Answers answers, ExecutorService threads, @Nullable Runnable driverOutput) {
    this.backend = backend;
    this.answers = answers;
    this.threads = threads;
    this.driverOutput = driverOutput;
  }

  /** Returns whether the driver prints when it is synchronised, which merely asking it does not. */
  public boolean driverPrints() {
    return driverOutput != null;
  }

  public boolean isEmpty() {
    return count == 0;
  }

  public int size() {
    return count;
  }

  public void add(Wait wait) {
    answers.lock();
    try {
      waits.add(wait);
      count = waits.size();
    } finally {
      answers.unlock();
    }
  }

  /** Answers what can be answered. */
  public void poll() {
    answers.lock();
    try {
      for (int i = 0; i < waits.size(); i++) {
        Wait wait = waits.get(i);
        if (!wait.finished && wait.advance()) {
          finish(wait);
        }
      }
      sweep();
    } finally {
      answers.unlock();
    }
  }

  /**
   * To be called before answering that something of a context is complete, with the lock held until
   * then.
   */
  public void completeCopies(ContextState context) {
    if (count > 0) {
      answerCompleteCopies();
      sweep();
    }
    sendPrinted(context);
  }

  /** Sends what kernels of a context have printed, where a driver prints by itself. */
  public void sendPrinted(ContextState context) {
    if (driverOutput != null) {
      context.printed.flush();
      driverOutput.run();
    }
  }

  /** Gives every wait that has none yet a thread; the session's thread is about to block. */
  public void handOver() {
    answers.lock();
    try {
      for (Wait wait : waits) {
        if (!wait.handedOver && !wait.finished) {
          wait.handedOver = true;
          wait.context.waitingThreads.incrementAndGet();
          threads.execute(() -> await(wait));
        }
      }
    } finally {
      answers.unlock();
    }
  }

  /** Waits for the oldest unfinished copy to go on; false if there is none. */
  public boolean awaitCopy() {
    CopyWait oldest = null;
    answers.lock();
    try {
      for (Wait wait : waits) {
        if (wait instanceof CopyWait copy && !copy.finished && copy.hasEvent()) {
          oldest = copy;
          break;
        }
      }
    } finally {
      answers.unlock();
    }
    if (oldest == null) {
      return false;
    }
    step(oldest);
    poll();
    answers.flush();
    return true;
  }

  /** Waits for all waits of a context, and for the threads that look after them. */
  public void drain(ContextState context) {
    List<Wait> mine;
    answers.lock();
    try {
      mine = waits.stream().filter(wait -> wait.context == context).toList();
    } finally {
      answers.unlock();
    }
    for (Wait wait : mine) {
      while (step(wait)) {
        // each step reaches one event
      }
    }
    while (context.waitingThreads.get() > 0) {
      Thread.onSpinWait();
      Thread.yield();
    }
  }

  private void await(Wait wait) {
    try {
      backend.cuCtxSetCurrent(wait.context.handle);
      while (step(wait)) {
        // each step reaches one event
      }
    } finally {
      wait.context.waitingThreads.decrementAndGet();
    }
  }

  /** Blocks until the next event of a wait is reached; false when the wait is finished. */
  private boolean step(Wait wait) {
    long event;
    answers.lock();
    try {
      if (!wait.finished && wait.advance()) {
        finish(wait);
        sweep();
        answers.flush();
      }
      if (wait.finished || !wait.hasEvent()) {
        // One that events are still added to needs a thread again later.
        wait.handedOver = false;
        return false;
      }
      event = wait.nextEvent();
    } finally {
      answers.unlock();
    }
    int result = backend.cuEventSynchronize(event);
    if (result != 0) {
      answers.lock();
      try {
        // Another thread may have found it reached, and gone on to the next event.
        if (!wait.finished && !wait.advance() && wait.hasEvent() && wait.nextEvent() == event) {
          wait.fail(result);
        }
      } finally {
        answers.unlock();
      }
    }
    return true;
  }

  private void finish(Wait wait) {
    wait.finished = true;
    if (wait.isFence()) {
      answerCompleteCopies();
      sendPrinted(wait.context);
    }
    wait.answer();
  }

  /** Leaves the list as it is, for a caller may be walking it. */
  private void answerCompleteCopies() {
    for (int i = 0; i < waits.size(); i++) {
      Wait wait = waits.get(i);
      if (!wait.finished && wait instanceof CopyWait && wait.advance()) {
        wait.finished = true;
        wait.answer();
      }
    }
  }

  private void sweep() {
    waits.removeIf(wait -> wait.finished);
    count = waits.size();
  }
}
