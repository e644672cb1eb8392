// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker.session.call;

import io.gpupool.cuda.CudaResult;
import io.gpupool.cuda.Dispatcher;
import io.gpupool.cuda.OwnResult;
import io.gpupool.cuda.SessionServices;
import io.gpupool.worker.os.Memory;
import io.gpupool.worker.os.Posix;
import io.gpupool.worker.session.core.Answers;
import io.gpupool.worker.session.core.ContextState;
import io.gpupool.worker.session.core.Payload;

/**
 * The call being executed: its context, memory for its inputs and outputs, and its answer. Used by
 * the session's thread alone.
 */
public final class CurrentCall {
  private static final int OUTPUT_BYTES = SessionServices.OUTPUT_BYTES;
  private static final int CALL_BYTES = 4096;
  private static final int SCRATCH_BYTES = CALL_BYTES + OUTPUT_BYTES;

  private final Answers answers;
  private final Waits waits;
  private final ContextState noContext;
  private final long scratch = Posix.map(SCRATCH_BYTES);
  private ContextState context;
  private boolean creditWanted;
  private String fault = "";

  /** The latest answer: its result, and the length of its fixed outputs. */
  private int answerResult;

  private int answerBytes;
  private boolean restoring;

  /** Starts without a context. */
  public CurrentCall(Answers answers, Waits waits, ContextState noContext) {
    this.answers = answers;
    this.waits = waits;
    this.noContext = noContext;
    context = noContext;
  }

  /** The context of the frame being executed. */
  public ContextState context() {
    return context;
  }

  /** The stand-in for a context number that names nothing. */
  public ContextState noContext() {
    return noContext;
  }

  public void select(ContextState selected) {
    context = selected;
  }

  /** Zeroed memory for the outputs of one backend call: 512 bytes. */
  public long out() {
    Memory.clear(scratch, OUTPUT_BYTES);
    return scratch;
  }

  /** Memory for the inputs of one backend call, apart from {@link #out}: 3584 bytes. */
  public long in() {
    return scratch + OUTPUT_BYTES;
  }

  /**
   * Has the program give back what it has credit for and call again, if this call answers that
   * there is no memory.
   */
  public void wantCredit() {
    creditWanted = true;
  }

  /**
   * Says why a frame is none that a program of ours sends.
   *
   * @return what an op answers then, for the session to end
   */
  public int malformed(String why) {
    fault = ": " + why;
    return Dispatcher.MALFORMED;
  }

  /** Returns what is to be added to the reason for which the session ends. */
  public String fault() {
    return fault;
  }

  /** Answers a fenced call, remembering an error that stays. */
  public void reply(int tag, int result) {
    note(result);
    keep(result, 0, 0);
    answers.reply(tag, told(result));
  }

  /** Answers a fenced call; the payload goes only with success. */
  public void reply(int tag, int result, long address, int lengthBytes) {
    note(result);
    if (result == 0) {
      keep(0, address, lengthBytes);
      answers.reply(tag, 0, address, lengthBytes);
    } else {
      keep(result, 0, 0);
      answers.reply(tag, told(result));
    }
  }

  /** Answers a fenced call with a payload, which only an error that stays leaves out. */
  public void replyWithLog(int tag, int result, Payload payload) {
    int told = told(result);
    if (CudaResult.isSticky(result) || told != result) {
      note(result);
      keep(result, 0, 0);
      answers.reply(tag, told);
    } else {
      keep(result, 0, 0);
      answers.reply(tag, result, payload.address(), payload.lengthBytes());
    }
  }

  /** Answers a call whose answer says that work is complete. */
  public void replyComplete(int tag, int result) {
    note(result);
    // Of what failed just before it was complete, such as a collective.
    int told = result == 0 ? context.takeError() : result;
    answers.lock();
    try {
      waits.completeCopies(context);
      answers.reply(tag, told);
    } finally {
      answers.unlock();
    }
  }

  /** If the context has an error to report, answers the tag with it and returns true. */
  public boolean answerDeferred(int tag) {
    int error = context.takeError();
    if (error == 0) {
      return false;
    }
    keep(error, 0, 0);
    answers.reply(tag, error);
    return true;
  }

  /** Prepares for what kernels of the context print, if the driver prints by itself. */
  public void expectPrinting() {
    if (waits.driverPrints()) {
      context.printed.open(context.handle);
    }
  }

  public void release() {
    Posix.unmap(scratch, SCRATCH_BYTES);
  }

  /** The result of the latest fenced call that was answered at once. */
  public int answerResult() {
    return answerResult;
  }

  /** Returns the fixed outputs of that answer. */
  public byte[] answer() {
    return Memory.bytes(answerAddress(), answerBytes);
  }

  /** Where the fixed outputs of that answer lie, until the next call. */
  public long answerAddress() {
    return scratch + CALL_BYTES;
  }

  /** The length of those outputs. */
  public int answerBytes() {
    return answerBytes;
  }

  /** Begins or ends the time in which the session is made again from its journal. */
  public void setRestoring(boolean isRestoring) {
    restoring = isRestoring;
    answers.mute(isRestoring);
  }

  /** Returns whether the session is being made again: calls were checked when they came. */
  public boolean isRestoring() {
    return restoring;
  }

  private void keep(int result, long address, int lengthBytes) {
    answerResult = result;
    // Longer ones are lists, which the backend gives again.
    answerBytes = lengthBytes <= OUTPUT_BYTES ? lengthBytes : 0;
    // The call frees what it has answered with before its entry in the journal is written.
    Memory.copy(address, answerAddress(), answerBytes);
  }

  private int told(int result) {
    boolean again = creditWanted && result == CudaResult.OUT_OF_MEMORY;
    creditWanted = false;
    return again ? OwnResult.CREDIT_WANTED : result;
  }

  private void note(int result) {
    if (CudaResult.isSticky(result)) {
      context.report(result);
    }
  }
}
