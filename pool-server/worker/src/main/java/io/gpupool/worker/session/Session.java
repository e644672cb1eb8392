// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker.session;

import io.gpupool.cuda.Backend;
import io.gpupool.cuda.BackendTraits;
import io.gpupool.cuda.ControlOp;
import io.gpupool.cuda.CudaResult;
import io.gpupool.cuda.Dispatcher;
import io.gpupool.cuda.Ops;
import io.gpupool.cuda.RequestHeader;
import io.gpupool.worker.connection.AbsentConnection;
import io.gpupool.worker.connection.ProgramConnection;
import io.gpupool.worker.os.Memory;
import io.gpupool.worker.os.Posix;
import io.gpupool.worker.peer.PeerConnections;
import io.gpupool.worker.session.SessionCounters.Traffic;
import io.gpupool.worker.session.call.Waits;
import io.gpupool.worker.session.core.AnswerSender;
import io.gpupool.worker.session.core.Answers;
import io.gpupool.worker.session.quota.LeasedGpu;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * The executor of one program's call stream, in order, on the thread that calls {@link #run}.
 * Frames are decoded where they were received; answers go out before the thread waits for more.
 */
public final class Session {
  private static final int FRAMES_BETWEEN_POLLS = 32;

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
  private final CallExecutor executor;
  private final ReadAhead reader;
  private final SessionPause pause;
  private final SessionTransfer transfer;
  private final Welcome welcome;
  private final SessionAbort abort;
  private final SessionThreads threads = new SessionThreads();
  private final PeerConnections peers;

  /** Whether a control frame has come since the last receipt. */
  private boolean controlled;

  /** Whether all waits had a thread when it last waited for a receipt. */
  private boolean handedOver;

  private @Nullable String ending;

  private long frames;
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
    this(backend, plan, CallStream.of(connection, plan.resume()), connection);
  }

  /**
   * Prepares a session that is to be made again by its {@link #transfer}.
   *
   * @param point where its call stream goes on
   * @throws IllegalStateException if the backend lacks a GPU of the plan, or cannot do that
   */
  public Session(Backend backend, SessionPlan plan, ResumePoint point) {
    this(backend, plan, CallStream.at(point, plan.resume()), new AbsentConnection());
  }

  private Session(
      Backend backend, SessionPlan plan, CallStream stream, ProgramConnection connection) {
    this.backend = backend;
    this.stream = stream;
    window = plan.resume();
    spin = new Spin(plan.spinNanos());
    welcome = new Welcome(backend, plan.gpus());
    reader = new ReadAhead(stream, new Ends());
    AnswerSender sender = stream.sender();
    answers = sender == null ? new Answers(connection) : new Answers(sender, reader);
    acknowledgements = sender == null ? null : new Acknowledgements(stream, sender, answers);
    waits = new Waits(backend, answers, threads.waiting(), plan.driverOutput());
    peers = plan.others().peers();
    abort = new SessionAbort(answers, stream);
    calls =
        new SessionCalls(
            backend, plan, welcome.devices(), answers, waits, threads, reader, abort::abort);
    executor =
        new CallExecutor(
            new Dispatcher(backend, calls),
            calls.call(),
            calls.saved().journal(),
            backend.relocation().orElse(null));
    reader.tell(acknowledgements, calls.callback()::callbackDone);
    pause = new SessionPause(stream, calls.idle(), answers, new PauseSteps(), window.millis());
    List<Integer> gpus = plan.gpus().stream().map(LeasedGpu::ordinal).toList();
    transfer = new SessionTransfer(backend, stream, calls, executor, pause, gpus);
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

  /** The ways of the session into another process, and out of one. */
  public SessionTransfer transfer() {
    return transfer;
  }

  /**
   * Runs until the stream ends.
   *
   * @return why it ended, for people
   */
  public String run() {
    reader.begin();
    try {
      while (ending == null) {
        executeReceived();
        if (ending == null && pause.pauseIfRequested()) {
          ending = "it has moved to another server";
        }
        if (ending == null) {
          receive();
        }
      }
    } catch (RuntimeException | Error e) {
      ending = "internal error: " + e;
      answers.fatal(CudaResult.UNKNOWN, ending);
      throw e;
    } finally {
      reader.finish();
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
    if (pause.isPaused()) {
      return 0;
    }
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
      if (!Frames.isLength(length)) {
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
        reader.setBetweenFrames(true);
        waits.poll();
        reader.setBetweenFrames(false);
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
    int result = executor.execute(op, context, frame, length);
    if (result != 0) {
      failed(op, length, result);
    } else if (op == Ops.goodbye) {
      ending = "goodbye";
    }
  }

  private void failed(int op, int length, int result) {
    if (result == Dispatcher.MALFORMED) {
      end("malformed frame: " + Ops.name(op) + " of " + length + " bytes" + calls.fault());
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
    reader.setBetweenFrames(true);
    stream.makeRoom();
    if (!stream.isConnected()) {
      awaitResumption();
    } else if (settled) {
      lostUnless(stream.awaitAndReceive());
    } else {
      lostUnless(receiveConnected(stream.end));
    }
    reader.setBetweenFrames(false);
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
    long received = nothingNew(before) ? stream.receive() : -Posix.EAGAIN;
    if (received == -Posix.EAGAIN) {
      received = spin(before);
    }
    if (received == -Posix.EAGAIN) {
      waits.handOver();
      handedOver = true;
      received = nothingNew(before) ? stream.awaitAndReceive() : received;
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
      reader.finish();
      logged.close();
      calls.cancelHostFunctions();
    }
  }

  private long spin(int before) {
    long received = -Posix.EAGAIN;
    spin.begin();
    while (received == -Posix.EAGAIN && nothingNew(before) && spin.goesOn()) {
      spin.pause();
      if (!waits.isEmpty()) {
        waits.poll();
        answers.flush();
      }
      received = nothingNew(before) ? stream.receive() : received;
    }
    spin.end(received != -Posix.EAGAIN || !nothingNew(before));
    return received;
  }

  /** The ends that are found while a call is under way. */
  private final class Ends implements ReadAhead.Ends {
    @Override
    public void end(@Nullable String reason) {
      Session.this.end(reason);
    }

    @Override
    public void over(@Nullable String reason) {
      Session.this.over(reason);
    }

    @Override
    public void cancelHostFunctions() {
      calls.cancelHostFunctions();
    }
  }

  /** The session's part of its way into a pause. */
  private final class PauseSteps implements SessionPause.Steps {
    @Override
    public void executeReceived() {
      Session.this.executeReceived();
    }

    @Override
    public void readAhead() {
      reader.setBetweenFrames(true);
      reader.readAhead();
      reader.setBetweenFrames(false);
    }

    @Override
    public SessionTransfer transfer() {
      return transfer;
    }

    @Override
    public boolean isEnding() {
      return ending != null;
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
      if (reader.isCurrent()) {
        answers.flush();
        waits.handOver();
        reader.readAhead();
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
