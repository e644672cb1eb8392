// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker.session;

import io.gpupool.cuda.CudaResult;
import io.gpupool.worker.session.core.AnswerSender;
import io.gpupool.worker.session.core.Answers;
import org.jspecify.annotations.Nullable;

/** The end of a session by another thread than its own. Guarded by the answers' lock. */
final class SessionAbort {
  private final Answers answers;
  private final CallStream stream;
  private @Nullable String reason;
  private boolean over;

  SessionAbort(Answers answers, CallStream stream) {
    this.answers = answers;
    this.stream = stream;
  }

  /** Ends the session: the program is told why. Any thread may call it. */
  void abort(String why) {
    if (stream.sender() instanceof AnswerSender sender) {
      // A thread that answers holds the lock until there is room.
      sender.log().end();
    }
    answers.lock();
    try {
      if (!over && reason == null) {
        reason = why;
        answers.fatal(CudaResult.DEVICE_UNAVAILABLE, why);
        answers.flush();
        stream.wake();
      }
    } finally {
      answers.unlock();
    }
  }

  /** Returns why it was ended, if it was. */
  @Nullable String reason() {
    answers.lock();
    try {
      return reason;
    } finally {
      answers.unlock();
    }
  }

  /** The session has come to an end by itself. */
  void close() {
    answers.lock();
    try {
      over = true;
    } finally {
      answers.unlock();
    }
  }
}
