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
  /** The time between two looks at whether the session's thread waits for the program. */
  private static final long NOTICE_MILLIS = 5;

  private static final long LOOK_NANOS = TimeUnit.MICROSECONDS.toNanos(200);

  private final CallStream stream;
  private final IdleCheck idle;
  private final Answers answers;
  private final Steps steps;
  private final long maxPatienceNanos;
  private final AtomicReference<@Nullable Request> requested = new AtomicReference<>();
  private volatile boolean paused;

  /** What the session's thread does on the way. */
  interface Steps {
    /** Executes the whole frames that have been received. */
    void executeReceived();

    /** Takes in what is there, perhaps over a later connection, and sees to what has ended. */
    void readAhead();

    /** Returns the session as it is to be transferred. */
    SessionTransfer transfer();

    /** Returns whether the session is ending. */
    boolean isEnding();
  }

  /** A pause that was asked for, and is neither begun nor refused. */
  private static final class Request {
    final Pause pause;
    private final long patienceNanos;
    private final long sinceNanos = System.nanoTime();

    /** Whether the session's thread is on its way. */
    volatile boolean noticed;

    /** Whether it waits for work that was given to the GPU. */
    volatile boolean awaitsWork;

    Request(Pause pause, long patienceNanos) {
      this.pause = pause;
      this.patienceNanos = patienceNanos;
    }

    boolean isOverdue() {
      return System.nanoTime() - sinceNanos > patienceNanos;
    }
  }

  /**
   * Of a session.
   *
   * @param windowMillis the resume window, in which the program has to find its session again
   */
  SessionPause(CallStream stream, IdleCheck idle, Answers answers, Steps steps, long windowMillis) {
    maxPatienceNanos = TimeUnit.MILLISECONDS.toNanos(windowMillis) / 2;
    this.stream = stream;
    this.idle = idle;
    this.answers = answers;
    this.steps = steps;
  }

  /**
   * Asks for a pause; returns when it has begun or was refused. For another thread.
   *
   * @param patienceNanos how long calls, work of the GPU and host functions may take until then; at
   *     most half of the resume window
   */
  void request(Pause pause, long patienceNanos) {
    Request request = new Request(pause, Math.min(patienceNanos, maxPatienceNanos));
    if (!requested.compareAndSet(null, request)) {
      pause.refused("another pause was asked for");
      return;
    }
    stream.interrupt(true);
    while (requested.get() == request) {
      LockSupport.parkNanos(TimeUnit.MILLISECONDS.toNanos(NOTICE_MILLIS));
      if (request.isOverdue()) {
        withdraw(request);
      } else if (!request.noticed && !idle.callbacks().anyOutstanding()) {
        // The end of a host function and the results of a call go over the connection.
        stream.cutWhileWaiting();
      }
    }
  }

  private void withdraw(Request request) {
    if (requested.compareAndSet(request, null)) {
      goOn();
      request.pause.refused(overdue(request));
    }
  }

  private String overdue(Request request) {
    if (idle.callbacks().anyOutstanding()) {
      return "a host function of the program takes too long";
    }
    return request.awaitsWork
        ? "work of the GPU takes too long, or a stream waits for something that does not come"
        : "a call takes too long, or the program does not take its results";
  }

  private void goOn() {
    stream.interrupt(false);
    stream.restartWindow();
  }

  /** Returns whether the session is paused. Any thread may ask. */
  boolean isPaused() {
    return paused;
  }

  /**
   * Pauses if that was asked for. A session that stays has executed all whole frames that it read
   * meanwhile.
   *
   * @return whether the session has left
   */
  boolean pauseIfRequested() {
    Request request = requested.get();
    if (request == null) {
      return false;
    }
    request.noticed = true;
    String reason = settle(request);
    // Not so if it took too long, and was refused by the thread that had asked.
    if (requested.compareAndSet(request, null)) {
      if (begin(request.pause, reason)) {
        return true;
      }
      goOn();
    }
    steps.executeReceived();
    return false;
  }

  private boolean begin(Pause pause, @Nullable String reason) {
    if (steps.isEnding()) {
      pause.refused("the session ends");
      return false;
    }
    if (reason != null) {
      pause.refused(reason);
      return false;
    }
    return pause(pause);
  }

  /**
   * Executes all that has come, and goes without a connection then; returns why it cannot. Not
   * before: the program takes results of calls over it, and has no other one until the pause ends.
   */
  private @Nullable String settle(Request request) {
    String reason = awaitIdle(request);
    // A call may have read what comes after it.
    while (reason == null && isWanted(request) && stream.hasWholeFrame()) {
      steps.executeReceived();
      reason = awaitIdle(request);
    }
    if (reason == null && isWanted(request)) {
      disconnect();
    }
    return reason;
  }

  private boolean isWanted(Request request) {
    return requested.get() == request && !steps.isEnding();
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
    while (isWanted(request)) {
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
      request.awaitsWork = !settled;
      if (settled) {
        return null;
      }
      if (idle.callbacks().anyOutstanding()) {
        steps.readAhead();
      }
      LockSupport.parkNanos(LOOK_NANOS);
    }
    return null;
  }
}
