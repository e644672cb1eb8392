// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker.session;

import io.gpupool.cuda.CudaResult;
import io.gpupool.worker.session.core.AnswerSender;
import io.gpupool.worker.session.core.Answers;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;
import java.util.concurrent.locks.LockSupport;
import org.jspecify.annotations.Nullable;

/** The way of a session into a pause. Used by the session's thread unless said otherwise. */
final class SessionPause {
  /** For which the session's thread may be in a call before its connection is broken for it. */
  private static final long NOTICE_MILLIS = 5;

  private static final long LOOK_NANOS = TimeUnit.MICROSECONDS.toNanos(200);

  private final CallStream stream;
  private final IdleCheck idle;
  private final Answers answers;
  private final Steps steps;
  private final AtomicReference<@Nullable Request> requested = new AtomicReference<>();
  private volatile boolean paused;

  /** What the session's thread does on the way. */
  interface Steps {
    /** Executes the whole frames that have been received. */
    void executeReceived();

    /** Takes in what is there, if there is a connection, and sees to what has ended. */
    void readAhead();

    /** Returns the session as it is to be transferred. */
    SessionTransfer transfer();

    /** Returns whether the session is ending. */
    boolean isEnding();
  }

  private record Request(Pause pause, long patienceNanos, long sinceNanos) {
    boolean isOverdue() {
      return System.nanoTime() - sinceNanos > patienceNanos;
    }
  }

  SessionPause(CallStream stream, IdleCheck idle, Answers answers, Steps steps) {
    this.stream = stream;
    this.idle = idle;
    this.answers = answers;
    this.steps = steps;
  }

  /**
   * Asks for a pause; returns when the session's thread will notice, or the request was refused.
   * For another thread.
   *
   * @param patienceNanos how long work of the GPU and host functions may take until then
   */
  void request(Pause pause, long patienceNanos) {
    Request request = new Request(pause, patienceNanos, System.nanoTime());
    if (!requested.compareAndSet(null, request)) {
      pause.refused("another pause was asked for");
      return;
    }
    stream.interrupt(true);
    do {
      LockSupport.parkNanos(TimeUnit.MILLISECONDS.toNanos(NOTICE_MILLIS));
      if (request.isOverdue() && requested.compareAndSet(request, null)) {
        pause.refused("a host function of the program takes too long");
        return;
      }
      // Without a connection, nobody could say that one has ended.
    } while (requested.get() == request && idle.callbacks().anyOutstanding());
    if (requested.get() == request) {
      stream.cut();
    }
  }

  /** Returns whether the session is paused. Any thread may ask. */
  boolean isPaused() {
    return paused;
  }

  /**
   * Pauses if that was asked for.
   *
   * @return whether the session has left
   */
  boolean pauseIfRequested() {
    Request request = requested.getAndSet(null);
    if (request == null) {
      return false;
    }
    String reason = awaitIdle(request);
    if (reason == null) {
      disconnect();
      // What had come while the GPU was waited for.
      steps.executeReceived();
      reason = awaitIdle(request);
    }
    boolean gone = false;
    if (steps.isEnding()) {
      request.pause.refused("the session ends");
    } else if (reason != null) {
      request.pause.refused(reason);
    } else {
      gone = pause(request.pause);
    }
    if (!gone) {
      stream.interrupt(false);
      stream.restartWindow();
    }
    return gone;
  }

  private boolean pause(Pause pause) {
    SessionState state = steps.transfer().state();
    Optional<String> reason = state.rejectionReason();
    if (reason.isPresent()) {
      pause.refused(reason.get());
      return false;
    }
    paused = true;
    try {
      return pause.paused(state, steps.transfer().point());
    } finally {
      paused = false;
    }
  }

  private void disconnect() {
    if (stream.isConnected() && stream.sender() instanceof AnswerSender logged) {
      stream.cut();
      stream.lose(0, logged);
    }
  }

  private @Nullable String awaitIdle(Request request) {
    while (!steps.isEnding()) {
      idle.waits().poll();
      int result = idle.query();
      if (result != 0 && result != CudaResult.NOT_READY) {
        return "a context has failed with CUDA error " + result;
      }
      boolean settled = result == 0 && idle.isSettled();
      if (settled) {
        idle.sendPrinted();
      }
      // Whatever was answered until then.
      answers.flush();
      if (settled) {
        return null;
      }
      if (request.isOverdue()) {
        return idle.callbacks().anyOutstanding()
            ? "a host function of the program takes too long"
            : "work of the GPU takes too long, or a stream waits for something that does not come";
      }
      steps.readAhead();
      LockSupport.parkNanos(LOOK_NANOS);
    }
    return null;
  }
}
