// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker.session;

import io.gpupool.cuda.Dispatcher;
import io.gpupool.cuda.OpEffect;
import io.gpupool.cuda.OpEffects;
import io.gpupool.cuda.Ops;
import io.gpupool.cuda.Relocation;
import io.gpupool.worker.session.call.CurrentCall;
import io.gpupool.worker.session.journal.Journal;
import org.jspecify.annotations.Nullable;

/**
 * The execution of single calls, with a note of what lasts of them if the backend can make a
 * session again. Used by the session's thread alone.
 */
final class CallExecutor {
  private final Dispatcher dispatcher;
  private final CurrentCall call;
  private final Journal journal;
  private final @Nullable Relocation relocation;

  CallExecutor(
      Dispatcher dispatcher, CurrentCall call, Journal journal, @Nullable Relocation relocation) {
    this.dispatcher = dispatcher;
    this.call = call;
    this.journal = journal;
    this.relocation = relocation;
  }

  /** Executes a frame, whose context is current; returns as {@link Dispatcher#dispatch} does. */
  int execute(int op, int context, long frame, int frameBytes) {
    OpEffect effect = relocation == null ? null : OpEffects.of(op);
    if (effect == null || relocation == null) {
      return dispatcher.dispatch(op, frame, frameBytes);
    }
    relocation.beginNoting();
    int result = dispatcher.dispatch(op, frame, frameBytes);
    long[] numbers = relocation.noted();
    if (result == 0 && (!Ops.isFenced(op) || call.answerResult() == 0)) {
      int answerBytes = Ops.isFenced(op) ? call.answerBytes() : 0;
      journal.note(
          effect, op, context, frame, frameBytes, call.answerAddress(), answerBytes, numbers);
    }
    return result;
  }
}
