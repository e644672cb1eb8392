// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker.session;

import io.gpupool.cuda.Backend;
import io.gpupool.cuda.BackendTraits;
import io.gpupool.cuda.ControlOp;
import io.gpupool.cuda.CudaResult;
import io.gpupool.cuda.Dispatcher;
import io.gpupool.cuda.Ops;
import io.gpupool.cuda.RequestHeader;
import io.gpupool.worker.connection.ProgramConnection;
import io.gpupool.worker.os.Memory;
import io.gpupool.worker.os.Posix;
import io.gpupool.worker.peer.PeerConnections;
import io.gpupool.worker.session.SessionCounters.Traffic;
import io.gpupool.worker.session.call.Waits;
import io.gpupool.worker.session.core.AnswerLog;
import io.gpupool.worker.session.core.AnswerSender;
import io.gpupool.worker.session.core.Answers;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * The executor of one program's call stream, in order, on the thread that calls {@link #run}.
 * Frames are decoded where they were received; answers go out before the thread waits for more.
 */
public final class Session {
  private static final int FRAMES_BETWEEN_POLLS = 32;
  private static final int CALLBACK_DONE_BYTES = 16;
  private static final long PAUSE_NANOS = 100_000;

  /** Time for an aborted session to end once its program has gone. */
  private static final long ABORT_NANOS = TimeUnit.SECONDS.toNanos(10);

  private final CallStream stream;
  private final ResumeWindow window;

  /** Null if the stream cannot be resumed. */
  private final @Nullable Acknowledgements acknowledgements;

  private final Spin spin;
  private final Answers answers;
  private final Waits waits;
  private final Backend backend;
  private final SessionCalls calls;
  private final Dispatcher dispatcher;
  private final Welcome welcome;
  private final SessionAbort abort;
  private final SessionThreads threads = new SessionThreads();
  private final PeerConnections peers;

  private boolean readAheadEnds;

  /** Whether no frame is being executed. */
  private boolean betweenFrames;

  /** Whether a control frame has come since the last receipt. */
  private boolean controlled;

  /** Whether all waits had a thread when it last waited for a receipt. */
  private boolean handedOver;

  private @Nullable String ending;

  private long frames;
  private volatile @Nullable Thread thread;
  private volatile long published;
  private volatile String lastError = "";

  /**
   * Prepares a session; asks the backend for the GPUs.
   *
   * @param plan what the session may use
   * @param connection the call stream, whose socket stays the caller's to close
   * @throws IllegalStateException if the backend lacks a GPU of the plan
   */
  public Session(Backend backend, SessionPlan plan, ProgramConnection connection) {
    this.backend = backend;
    window = plan.resume();
    spin = new Spin(plan.spinNanos());
    welcome = new Welcome(backend, plan.gpus());
    AnswerSender sender = window.exists() ? new AnswerSender(new AnswerLog(), connection) : null;
    stream = new CallStream(connection, window, sender);
    answers = sender == null ? new Answers(connection) : new Answers(sender, new Reader());
    acknowledgements = sender == null ? null : new Acknowledgements(stream, sender, answers);
    waits = new Waits(backend, answers, threads.waiting(), plan.driverOutput());
    peers = plan.peers();
    abort = new SessionAbort(answers, stream);
    calls =
        new SessionCalls(
            backend, plan, welcome.devices(), answers, waits, threads, new Reader(), abort::abort);
    dispatcher = new Dispatcher(backend, calls);
    backend.setCaller(new Caller());
  }

  /** Touches memory that the next session of this process uses. Any thread may call it. */
  public static void prepare() {
    CallStream.prepare();
  }

  /**
   * Sends the WELCOME, with which the program goes on; once, before anything else is sent or run.
   */
  public void welcome() {
    answers.welcome(welcome.payload());
    answers.flush();
  }

  /**
   * Runs until the stream ends.
   *
   * @return why it ended, for people
   */
  public String run() {
    thread = Thread.currentThread();
    try {
      while (ending == null) {
        executeReceived();
        if (ending == null) {
          receive();
        }
      }
    } catch (RuntimeException | Error e) {
      ending = "internal error: " + e;
      answers.fatal(CudaResult.UNKNOWN, ending);
      throw e;
    } finally {
      readAheadEnds = true;
      answers.finish();
      published = frames;
      close();
    }
    return ending;
  }

  /** Goes on with a later connection, which is the session's to close. Any thread may call it. */
  public void resume(ProgramConnection later) {
    stream.offer(later);
  }

  /**
   * Looks at the connection of a session that outlives it, now and then. Any thread may call it.
   *
   * @return for how long it has been gone and will not come back, in nanoseconds
   */
  public long watch() {
    long goneNanos = stream.watch();
    String overdue = acknowledgements == null ? null : acknowledgements.overdue(window.millis());
    if (goneNanos == 0 && overdue != null) {
      abort.abort(overdue);
    }
    long patienceNanos =
        stream.isWoken() ? ABORT_NANOS : TimeUnit.MILLISECONDS.toNanos(window.millis());
    return Math.max(0, goneNanos - patienceNanos);
  }

  /**
   * Sends what a kernel printed; any thread may call it.
   *
   * @param stream where the program shall put it: the tag of an OUTPUT frame
   * @param taken gives the bytes, in one step with sending them, so that nothing overtakes them
   */
  public void print(int stream, Supplier<byte[]> taken) {
    answers.lock();
    try {
      answers.output(stream, taken.get());
    } finally {
      answers.unlock();
    }
  }

  /**
   * Sends what a kernel printed, or what there is to say of it; any thread may call it.
   *
   * @param stream where the program shall put it: the tag of an OUTPUT frame
   */
  public void print(int stream, byte[] bytes) {
    answers.output(stream, bytes);
  }

  /** Any thread may ask. */
  public SessionCounters counters() {
    return new SessionCounters(
        published,
        answers.replies(),
        new Traffic(stream.receivedBytes(), answers.sentBytes()),
        new Traffic(peers.receivedBytes(), peers.sentBytes()),
        calls.overheadBytes(),
        waits.size(),
        lastError);
  }

  private void executeReceived() {
    int sincePoll = 0;
    while (stream.end - stream.start >= RequestHeader.BYTES) {
      long frame = stream.buffer + stream.start;
      int length = Memory.getInt(frame);
      if (!CallStream.isLength(length)) {
        end("malformed frame: length " + Integer.toUnsignedString(length));
        return;
      }
      if (stream.end - stream.start < length) {
        return;
      }
      execute(frame, length);
      stream.start += length;
      frames++;
      if (ending != null) {
        return;
      }
      if (!waits.isEmpty() && ++sincePoll == FRAMES_BETWEEN_POLLS) {
        sincePoll = 0;
        betweenFrames = true;
        waits.poll();
        betweenFrames = false;
      }
    }
  }

  private void execute(long frame, int length) {
    int op = Memory.getShort(frame + RequestHeader.OP);
    if (op >= ControlOp.ACKNOWLEDGE && control(frame, length)) {
      return;
    }
    int context = Memory.getShort(frame + RequestHeader.CONTEXT);
    if (context != calls.context().currentNumber()) {
      calls.context().select(context);
    }
    calls.op = op;
    if (!backend.hasRoom()) {
      calls.awaitRoom();
    }
    int result = dispatcher.dispatch(op, frame, length);
    if (result != 0) {
      failed(op, length, result);
    } else if (op == Ops.goodbye) {
      ending = "goodbye";
    }
  }

  private void failed(int op, int length, int result) {
    if (result == Dispatcher.MALFORMED) {
      end("malformed frame: " + Ops.name(op) + " of " + length + " bytes");
      return;
    }
    int error = result == Dispatcher.UNKNOWN ? CudaResult.NOT_SUPPORTED : result;
    lastError =
        Ops.name(op) + ": " + error + backend.lastFailure().map(why -> ", " + why).orElse("");
    if (calls.current().exists()) {
      calls.current().report(error);
    }
  }

  private boolean control(long frame, int length) {
    if (acknowledgements == null) {
      return false;
    }
    end(acknowledgements.execute(frame, length));
    frames--;
    controlled = !acknowledgements.areWanted();
    return true;
  }

  private void end(@Nullable String reason) {
    if (reason == null) {
      return;
    }
    ending = reason;
    AnswerSender logged = stream.sender();
    if (logged != null) {
      logged.log().end();
    }
    answers.fatal(CudaResult.UNKNOWN, reason);
  }

  /** Receives something, or finds the end; waits are looked after meanwhile. */
  private void receive() {
    // Acknowledgements come while others answer, who have the right to without being disturbed.
    boolean settled = controlled && handedOver && frames == published;
    controlled = false;
    published = frames;
    betweenFrames = true;
    stream.makeRoom();
    if (!stream.isConnected()) {
      awaitResumption();
    } else if (settled) {
      lostUnless(stream.receive(0));
    } else {
      lostUnless(receiveConnected(stream.end));
    }
    betweenFrames = false;
  }

  private void awaitResumption() {
    if (stream.sender() instanceof AnswerSender logged) {
      waits.handOver();
      over(stream.awaitResumption(logged));
    }
    if (ending == null && !stream.isConnected()) {
      ending = abort.reason();
    }
  }

  private long receiveConnected(int before) {
    handedOver = false;
    if (!waits.isEmpty()) {
      waits.poll();
    }
    if (acknowledgements != null) {
      acknowledgements.tell();
    }
    answers.flush();
    long received = nothingNew(before) ? stream.receive(Posix.MSG_DONTWAIT) : -Posix.EAGAIN;
    if (received == -Posix.EAGAIN) {
      received = spin(before);
    }
    if (received == -Posix.EAGAIN) {
      waits.handOver();
      handedOver = true;
      received = nothingNew(before) ? stream.receive(0) : received;
    }
    return received;
  }

  private void lostUnless(long received) {
    if (ProgramConnection.violation(received) instanceof String violation) {
      end(violation);
    } else if (received <= 0 && received != -Posix.EAGAIN) {
      lose(received);
    }
  }

  /** Returns whether nothing has come of waiting for the right to answer. */
  private boolean nothingNew(int before) {
    return stream.end == before && stream.isConnected() && ending == null;
  }

  private void lose(long received) {
    // Without the right to answer: its thread, waiting for that, would find another connection.
    if (stream.isWoken()) {
      ending = abort.reason();
    } else if (stream.sender() instanceof AnswerSender logged) {
      stream.lose(received, logged);
    } else {
      ending = received == 0 ? "connection closed" : "connection lost: error " + -received;
    }
  }

  /** Ends the session if there is a reason, whatever has not been sent. */
  private void over(@Nullable String reason) {
    AnswerSender logged = stream.sender();
    if (reason != null && logged != null) {
      ending = reason;
      readAheadEnds = true;
      logged.close();
      calls.cancelHostFunctions();
    }
  }

  private long spin(int before) {
    long received = -Posix.EAGAIN;
    spin.begin();
    while (received == -Posix.EAGAIN && nothingNew(before) && spin.goesOn()) {
      // The program may run on this very processor: to wait without giving way would stop it.
      Thread.yield();
      spin.turned();
      if (!waits.isEmpty()) {
        waits.poll();
        answers.flush();
      }
      received = nothingNew(before) ? stream.receive(Posix.MSG_DONTWAIT) : received;
    }
    return received;
  }

  /**
   * While a call is under way that may wait for a host function: takes in what is there, and sees
   * to the host functions that have ended. The frames of that call stay where they are.
   */
  private void readAhead() {
    if (readAheadEnds) {
      return;
    }
    if (stream.isConnected()) {
      tookIn(stream.receiveAhead());
    }
    if (!stream.isConnected() && stream.sender() instanceof AnswerSender logged) {
      over(stream.lookForResumption(logged, false));
    }
    lookAtWhatCame();
  }

  private void tookIn(long received) {
    if (received > 0 || received == -Posix.EAGAIN) {
      return;
    }
    if (ProgramConnection.violation(received) instanceof String violation) {
      end(violation);
      readAheadEnds = true;
      calls.cancelHostFunctions();
    } else if (stream.sender() instanceof AnswerSender logged) {
      stream.lose(received, logged);
    } else {
      readAheadEnds = true;
      calls.cancelHostFunctions();
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
        calls.callback().callbackDone(Memory.getInt(frame + RequestHeader.BYTES));
        Memory.putLong(frame + RequestHeader.BYTES, 0);
      } else if (op >= ControlOp.ACKNOWLEDGE && acknowledgements != null) {
        end(acknowledgements.take(frame, length));
      }
    }
  }

  /**
   * The receiving end, for the ops, and for the answers of a session that outlives its connection.
   */
  private final class Reader implements Answers.Reader, SessionCalls.Receiver {
    @Override
    public boolean isCurrent() {
      return Thread.currentThread() == thread;
    }

    @Override
    public void lookAhead() {
      AnswerSender logged = stream.sender();
      if (readAheadEnds || logged == null) {
        LockSupport.parkNanos(PAUSE_NANOS);
        return;
      }
      if (stream.isFull()) {
        end("the program has sent more than it may without an acknowledgement");
        readAheadEnds = true;
      } else if (stream.isConnected()) {
        tookIn(stream.receiveFarAhead());
      } else {
        over(stream.lookForResumption(logged, true));
      }
      lookAtWhatCame();
    }

    @Override
    public void glance() {
      readAhead();
    }

    @Override
    public void readAhead() {
      Session.this.readAhead();
    }

    @Override
    public int takeDescriptor() {
      return stream.takeDescriptor();
    }
  }

  /** Access of a backend to this session while one of its calls waits in the backend. */
  private final class Caller implements BackendTraits.Caller {
    @Override
    public boolean hasHostFunctions() {
      return calls.hasHostFunctions();
    }

    @Override
    public void lookAround() {
      if (Thread.currentThread() == thread) {
        answers.flush();
        waits.handOver();
        readAhead();
      }
    }
  }

  private void close() {
    abort.close();
    calls.close();
    if (threads.shutDown()) {
      // A thread still inside the backend might touch them; then they stay until the process ends.
      calls.release();
      answers.release();
    }
    stream.release();
  }
}
