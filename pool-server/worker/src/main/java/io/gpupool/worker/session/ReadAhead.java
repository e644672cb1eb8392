// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker.session;

import io.gpupool.cuda.ControlOp;
import io.gpupool.cuda.Ops;
import io.gpupool.cuda.RequestHeader;
import io.gpupool.worker.connection.ProgramConnection;
import io.gpupool.worker.os.Memory;
import io.gpupool.worker.os.Posix;
import io.gpupool.worker.session.core.AnswerSender;
import io.gpupool.worker.session.core.Answers;
import java.util.concurrent.locks.LockSupport;
import java.util.function.IntConsumer;
import org.jspecify.annotations.Nullable;

/**
 * The receiving end of a call stream while a call is under way: it takes in what is there, and sees
 * to host functions that have ended and to acknowledgements. The frames of other calls stay where
 * they are. Used by the session's thread.
 */
final class ReadAhead implements Answers.Reader, Receiver {
  private static final int CALLBACK_DONE_BYTES = 16;
  private static final long PAUSE_NANOS = 100_000;

  private final CallStream stream;
  private final Ends ends;

  /** Null if the stream cannot be resumed. */
  private @Nullable Acknowledgements acknowledgements;

  private IntConsumer callbackDone = callback -> {};
  private boolean over;

  /** Whether no frame is being executed. */
  private boolean betweenFrames;

  private volatile @Nullable Thread thread;

  /** The ends of a session that are found while a call is under way. */
  interface Ends {
    /** Ends the session if there is a reason, which the program is told. */
    void end(@Nullable String reason);

    /** Ends the session if there is a reason, whatever has not been sent. */
    void over(@Nullable String reason);

    /** Nobody will say that host functions have ended. */
    void cancelHostFunctions();
  }

  ReadAhead(CallStream stream, Ends ends) {
    this.stream = stream;
    this.ends = ends;
  }

  /**
   * Sets what is told of what comes.
   *
   * @param newAcknowledgements null if the stream cannot be resumed
   * @param newCallbackDone takes the numbers of host functions that have ended
   */
  void tell(@Nullable Acknowledgements newAcknowledgements, IntConsumer newCallbackDone) {
    acknowledgements = newAcknowledgements;
    callbackDone = newCallbackDone;
  }

  /** The calling thread is the session's from now on. */
  void begin() {
    thread = Thread.currentThread();
  }

  /** Takes in nothing any more. */
  void finish() {
    over = true;
  }

  void setBetweenFrames(boolean isBetweenFrames) {
    betweenFrames = isBetweenFrames;
  }

  @Override
  public boolean isCurrent() {
    return Thread.currentThread() == thread;
  }

  @Override
  public void lookAhead() {
    AnswerSender logged = stream.sender();
    if (over || logged == null) {
      LockSupport.parkNanos(PAUSE_NANOS);
      return;
    }
    if (stream.isFull()) {
      ends.end("the program has sent more than it may without an acknowledgement");
      over = true;
    } else if (stream.isConnected()) {
      tookIn(stream.receiveFarAhead());
    } else {
      ends.over(stream.lookForResumption(logged, true));
    }
    lookAtWhatCame();
  }

  @Override
  public void glance() {
    readAhead();
  }

  @Override
  public void readAhead() {
    if (over) {
      return;
    }
    if (stream.isConnected()) {
      tookIn(stream.receiveAhead());
    }
    if (!stream.isConnected() && stream.sender() instanceof AnswerSender logged) {
      ends.over(stream.lookForResumption(logged, false));
    }
    lookAtWhatCame();
  }

  @Override
  public int takeDescriptor() {
    return stream.takeDescriptor();
  }

  private void tookIn(long received) {
    if (received > 0 || received == -Posix.EAGAIN) {
      return;
    }
    if (ProgramConnection.violation(received) instanceof String violation) {
      ends.end(violation);
      over = true;
      ends.cancelHostFunctions();
    } else if (stream.sender() instanceof AnswerSender logged) {
      stream.lose(received, logged);
    } else {
      over = true;
      ends.cancelHostFunctions();
    }
  }

  private void lookAtWhatCame() {
    int executing = betweenFrames ? 0 : Memory.getInt(stream.buffer + stream.start);
    int first = stream.start + executing;
    for (int at = stream.lookFurther(first); at >= 0; at = stream.lookFurther(first)) {
      long frame = stream.buffer + at;
      int length = Memory.getInt(frame);
      int op = Memory.getShort(frame + RequestHeader.OP);
      if (op == Ops.callbackDone && length == CALLBACK_DONE_BYTES) {
        callbackDone.accept(Memory.getInt(frame + RequestHeader.BYTES));
        Memory.putLong(frame + RequestHeader.BYTES, 0);
      } else if (op >= ControlOp.ACKNOWLEDGE && acknowledgements != null) {
        ends.end(acknowledgements.take(frame, length));
      }
    }
  }
}
