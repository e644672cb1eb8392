// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker.session;

import io.gpupool.cuda.AcknowledgeRequest;
import io.gpupool.cuda.ControlOp;
import io.gpupool.cuda.RequestHeader;
import io.gpupool.cuda.ResumeLimits;
import io.gpupool.worker.os.Memory;
import io.gpupool.worker.session.core.AnswerSender;
import io.gpupool.worker.session.core.Answers;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * The acknowledgements of a stream that can be resumed: the client's of answers, and the session's
 * of requests. Used by the session's thread alone.
 */
final class Acknowledgements {
  private final CallStream stream;
  private final AnswerSender sender;
  private final Answers answers;
  private boolean wanted;

  Acknowledgements(CallStream stream, AnswerSender sender, Answers answers) {
    this.stream = stream;
    this.sender = sender;
    this.answers = answers;
  }

  /** Executes a control frame whose turn it is; returns why the session ends, if it does. */
  @Nullable String execute(long frame, int length) {
    String refused = stream.wasLookedAt() ? null : take(frame, length);
    stream.discount(length);
    return refused;
  }

  /** Takes note of what a control frame says, perhaps ahead of its turn. */
  @Nullable String take(long frame, int length) {
    int op = Memory.getShort(frame + RequestHeader.OP);
    if (op != ControlOp.ACKNOWLEDGE || length != AcknowledgeRequest.BYTES) {
      return "malformed frame: control op " + op + " of " + length + " bytes";
    }
    long position = Memory.getLong(frame + AcknowledgeRequest.RECEIVED);
    if (!sender.acknowledged(position)) {
      return "malformed frame: an acknowledgement of byte "
          + Long.toUnsignedString(position)
          + " of the answers, of which "
          + sender.log().acknowledged()
          + " were acknowledged and "
          + sender.log().endPosition()
          + " exist";
    }
    wanted |= Memory.getInt(frame + AcknowledgeRequest.WANTED) != 0;
    return null;
  }

  /**
   * Returns why the session ends if the client has not acknowledged for as long as that. Any thread
   * may call it.
   */
  @Nullable String overdue(long millis) {
    if (sender.log().fullNanos() <= TimeUnit.MILLISECONDS.toNanos(millis)) {
      return null;
    }
    return "the program has not acknowledged "
        + (sender.log().endPosition() - sender.log().acknowledged())
        + " bytes of answers for its resume window of "
        + millis / 1000
        + " s";
  }

  /** Returns whether the client wants to know which of its requests have come. */
  boolean areWanted() {
    return wanted;
  }

  /** Tells the client which requests were executed, if they are many or it wants to know. */
  void tell() {
    long executed = stream.executed();
    if (wanted || executed - sender.toldReceived() >= ResumeLimits.ACKNOWLEDGE_BYTES) {
      wanted = false;
      // When the stream was resumed, frames were told of that were still to be executed.
      answers.acknowledge(Math.max(executed, sender.toldReceived()));
    }
  }
}
