// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker.session;

import io.gpupool.cuda.Backend;
import io.gpupool.cuda.MemoryRange;
import io.gpupool.cuda.MemoryWindow;
import io.gpupool.cuda.Ops;
import io.gpupool.cuda.Relocation;
import io.gpupool.worker.session.core.AnswerLog;
import io.gpupool.worker.session.core.AnswerSender;
import io.gpupool.worker.session.journal.RestoreException;
import io.gpupool.worker.session.module.Images;
import java.io.DataInput;
import java.io.IOException;
import java.util.List;
import java.util.Objects;
import java.util.Optional;

/** The ways of a session into another process, and out of one. */
public final class SessionTransfer {
  private final Backend backend;
  private final CallStream stream;
  private final SessionCalls calls;
  private final CallExecutor executor;
  private final SessionPause pause;
  private final List<Integer> gpus;

  /**
   * Of a session.
   *
   * @param gpus the backend's ordinals
   */
  SessionTransfer(
      Backend backend,
      CallStream stream,
      SessionCalls calls,
      CallExecutor executor,
      SessionPause pause,
      List<Integer> gpus) {
    this.backend = backend;
    this.stream = stream;
    this.calls = calls;
    this.executor = executor;
    this.pause = pause;
    this.gpus = List.copyOf(gpus);
  }

  /**
   * Makes everything again that a session had in another process; in the thread that is to run it.
   *
   * @param state as it was written down
   * @param images those that the state refers to
   * @throws RestoreException if something cannot be made again as it was
   */
  public SessionState restore(DataInput state, List<Images.Image> images)
      throws IOException, RestoreException {
    SessionState restored = state();
    restored.restore(
        state,
        images,
        (op, context, frame, frameBytes) -> {
          calls.context().select(context);
          calls.op = op;
          int result = executor.execute(op, context, frame, frameBytes);
          return result == 0 && Ops.isFenced(op) ? calls.call().answerResult() : result;
        });
    return restored;
  }

  /** The program can come back from now on, within the resume window. Any thread may call it. */
  public void awaitProgram() {
    stream.restartWindow();
  }

  /** The images of the session. */
  public Images images() {
    return calls.image();
  }

  /**
   * Has the session pause between two calls; returns when that is certain to come, or was refused.
   * For another thread.
   *
   * @param patienceNanos how long work under way may take until then
   */
  public void pause(Pause wanted, long patienceNanos) {
    pause.request(wanted, patienceNanos);
  }

  /** Returns the reason for which the session can never leave; empty: it may. Any thread may. */
  public Optional<String> rejectionReason() {
    if (stream.sender() == null) {
      return Optional.of("it has no resume window");
    }
    return backend
        .relocation()
        .map(relocation -> relocation.fixed().map(SessionState::cannotMove))
        .orElse(
            Optional.of(
                "the driver of its GPU chooses addresses by itself; start the server with"
                    + " --movable"));
  }

  /** Opens a window onto the session's memory. Any thread may. */
  public MemoryWindow openWindow() {
    return relocation().openWindow();
  }

  /** Returns the memory of the session's GPUs, as it is now. Any thread may ask. */
  public List<MemoryRange> memory() {
    return state().memory();
  }

  /** Returns the session as it is. */
  SessionState state() {
    return new SessionState(calls.saved(), calls.context(), calls.call(), relocation(), gpus);
  }

  private Relocation relocation() {
    return backend.relocation().orElseThrow(() -> new IllegalStateException("addresses change"));
  }

  /** Returns where the call stream goes on. */
  ResumePoint point() {
    AnswerSender logged = Objects.requireNonNull(stream.sender());
    AnswerLog log = logged.log();
    return new ResumePoint(stream.executed(), log.acknowledged(), logged.furthest(), log.kept());
  }
}
