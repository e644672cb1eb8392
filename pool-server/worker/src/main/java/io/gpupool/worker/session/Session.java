// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker.session;

import io.gpupool.cuda.Backend;
import io.gpupool.cuda.BackendTraits;
import io.gpupool.cuda.CudaResult;
import io.gpupool.cuda.Dispatcher;
import io.gpupool.cuda.FrameLimits;
import io.gpupool.cuda.Ops;
import io.gpupool.cuda.RequestHeader;
import io.gpupool.worker.os.Memory;
import io.gpupool.worker.os.Posix;
import io.gpupool.worker.peer.PeerConnections;
import io.gpupool.worker.session.SessionCounters.Traffic;
import io.gpupool.worker.session.call.Waits;
import io.gpupool.worker.session.core.Answers;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * The executor of one program's call stream, in order, on the thread that calls {@link #run}.
 * Frames are decoded where they were received; answers go out before the thread waits for more.
 */
public final class Session {
  private static final int RECEIVE_BYTES = 4 << 20;
  private static final int FRAMES_BETWEEN_POLLS = 32;
  private static final int CALLBACK_DONE_BYTES = 16;

  private final int fd;
  private final long spinNanos;
  private final Answers answers;
  private final Waits waits;
  private final Backend backend;
  private final SessionCalls calls;
  private final Dispatcher dispatcher;
  private final Welcome welcome;
  private final SessionThreads threads = new SessionThreads();
  private final PeerConnections peers;

  private final long buffer = Posix.map(RECEIVE_BYTES);
  private int start;
  private int end;
  private boolean readAheadEnds;

  private @Nullable String ending;

  /**
   * Why another thread ended the session; guarded by the answers' lock, as is whether it is over.
   */
  private @Nullable String aborting;

  private boolean over;
  private long frames;
  private volatile @Nullable Thread thread;
  private volatile long published;
  private volatile long receivedBytes;
  private volatile String lastError = "";

  /**
   * Prepares a session; asks the backend for the GPUs.
   *
   * @param plan what the session may use
   * @param fd the call stream, a blocking stream socket; stays the caller's to close
   * @throws IllegalStateException if the backend lacks a GPU of the plan
   */
  public Session(Backend backend, SessionPlan plan, int fd) {
    this.backend = backend;
    this.fd = fd;
    spinNanos = plan.spinNanos();
    welcome = new Welcome(backend, plan.gpus());
    answers = new Answers(fd);
    waits = new Waits(backend, answers, threads.waiting(), plan.driverOutput());
    peers = plan.peers();
    calls =
        new SessionCalls(
            backend,
            plan,
            welcome.devices(),
            answers,
            waits,
            threads,
            this::readAhead,
            this::abort);
    dispatcher = new Dispatcher(backend, calls);
    backend.setCaller(new Caller());
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
      answers.flush();
      published = frames;
      close();
    }
    return ending;
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
        new Traffic(receivedBytes, answers.sentBytes()),
        new Traffic(peers.receivedBytes(), peers.sentBytes()),
        calls.overheadBytes(),
        waits.size(),
        lastError);
  }

  private void executeReceived() {
    int sincePoll = 0;
    while (end - start >= RequestHeader.BYTES) {
      long frame = buffer + start;
      int length = Memory.getInt(frame);
      if (length < RequestHeader.BYTES
          || length > FrameLimits.MAX_FRAME_BYTES
          || (length & 7) != 0) {
        end("malformed frame: length " + Integer.toUnsignedString(length));
        return;
      }
      if (end - start < length) {
        return;
      }
      execute(frame, length);
      start += length;
      frames++;
      if (ending != null) {
        return;
      }
      if (!waits.isEmpty() && ++sincePoll == FRAMES_BETWEEN_POLLS) {
        sincePoll = 0;
        waits.poll();
      }
    }
  }

  private void execute(long frame, int length) {
    int op = Memory.getShort(frame + RequestHeader.OP);
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

  private void end(String reason) {
    ending = reason;
    answers.fatal(CudaResult.UNKNOWN, reason);
  }

  /** Receives at least one byte, or finds the end; waits are looked after meanwhile. */
  private void receive() {
    makeRoom();
    published = frames;
    if (!waits.isEmpty()) {
      waits.poll();
    }
    answers.flush();
    long received = Posix.recv(fd, buffer + end, RECEIVE_BYTES - end, Posix.MSG_DONTWAIT);
    if (received == -Posix.EAGAIN) {
      received = spin();
    }
    if (received == -Posix.EAGAIN) {
      waits.handOver();
      received = Posix.recv(fd, buffer + end, RECEIVE_BYTES - end, 0);
    }
    if (received > 0) {
      end += (int) received;
      receivedBytes += received;
    } else {
      ending = received == 0 ? "connection closed" : "connection lost: error " + -received;
      answers.lock();
      try {
        ending = aborting == null ? ending : aborting;
      } finally {
        answers.unlock();
      }
    }
  }

  /** Ends the session from another thread: the program is told why. */
  private void abort(String reason) {
    answers.lock();
    try {
      if (!over && aborting == null) {
        aborting = reason;
        answers.fatal(CudaResult.DEVICE_UNAVAILABLE, reason);
        answers.flush();
        Posix.shutdown(fd);
      }
    } finally {
      answers.unlock();
    }
  }

  private long spin() {
    long deadline = System.nanoTime() + spinNanos;
    long received = -Posix.EAGAIN;
    while (received == -Posix.EAGAIN && System.nanoTime() - deadline < 0) {
      // The program may run on this very processor: to wait without giving way would stop it.
      Thread.yield();
      if (!waits.isEmpty()) {
        waits.poll();
        answers.flush();
      }
      received = Posix.recv(fd, buffer + end, RECEIVE_BYTES - end, Posix.MSG_DONTWAIT);
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
    long received =
        end == RECEIVE_BYTES
            ? -Posix.EAGAIN
            : Posix.recv(fd, buffer + end, RECEIVE_BYTES - end, Posix.MSG_DONTWAIT);
    if (received > 0) {
      end += (int) received;
      receivedBytes += received;
    } else if (received != -Posix.EAGAIN) {
      readAheadEnds = true;
      calls.cancelHostFunctions();
    }
    int at = start;
    while (end - at >= RequestHeader.BYTES) {
      long frame = buffer + at;
      int length = Memory.getInt(frame);
      if (length < RequestHeader.BYTES
          || length > FrameLimits.MAX_FRAME_BYTES
          || end - at < length) {
        return;
      }
      if (at > start
          && length == CALLBACK_DONE_BYTES
          && Memory.getShort(frame + RequestHeader.OP) == Ops.callbackDone) {
        calls.callback().callbackDone(Memory.getInt(frame + RequestHeader.BYTES));
        Memory.putLong(frame + RequestHeader.BYTES, 0);
      }
      at += length;
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

  /** Moves the beginning of a frame to the front, unless the rest of the longest frame has room. */
  private void makeRoom() {
    if (start == end) {
      start = 0;
      end = 0;
    } else if (RECEIVE_BYTES - start < 2 * FrameLimits.MAX_FRAME_BYTES) {
      Memory.copy(buffer + start, buffer, end - start);
      end -= start;
      start = 0;
    }
  }

  private void close() {
    answers.lock();
    try {
      over = true;
    } finally {
      answers.unlock();
    }
    calls.close();
    if (threads.shutDown()) {
      // A thread still inside the backend might touch them; then they stay until the process ends.
      calls.release();
      answers.release();
    }
    Posix.unmap(buffer, RECEIVE_BYTES);
  }
}
