// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker.session;

import com.google.errorprone.annotations.concurrent.GuardedBy;
import io.gpupool.cuda.FrameLimits;
import io.gpupool.cuda.RequestHeader;
import io.gpupool.cuda.ResumeLimits;
import io.gpupool.cuda.ResumeRequest;
import io.gpupool.worker.connection.AbsentConnection;
import io.gpupool.worker.connection.ProgramConnection;
import io.gpupool.worker.os.Memory;
import io.gpupool.worker.os.Posix;
import io.gpupool.worker.os.TcpWatch;
import io.gpupool.worker.session.core.AnswerLog;
import io.gpupool.worker.session.core.AnswerSender;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * The receiving end of a call stream: a connection, later ones in its place if the session outlives
 * it, and the requests that have come. Used by the session's thread unless said otherwise.
 */
final class CallStream {
  /*
   * While a connection is lost, a later one may be offered. It is adopted, says with its first frame
   * up to where the client has the answers, and is then the connection. Until then the time of the
   * loss counts.
   */
  private static final int RECEIVE_BYTES = 4 << 20;
  private static final int CONTROL_FRAMES_BYTES = 2 << 20;
  private static final int LOOK_MILLIS = 10;
  private static final int WORK_BYTES = 64 << 10;
  private static final int RESUMABLE_BYTES =
      RECEIVE_BYTES + ResumeLimits.MAX_RETAINED_BYTES + CONTROL_FRAMES_BYTES;

  /** Memory for the next stream that can be resumed. */
  private static final PreparedMemory PREPARED =
      new PreparedMemory(RESUMABLE_BYTES + WORK_BYTES, RECEIVE_BYTES);

  private enum State {
    CONNECTED,
    LOST,
    ADOPTED
  }

  /** The first byte that is received and not executed, and the end of those received. */
  int start;

  int end;

  final long buffer;

  private final int bufferBytes;
  private final int firstFd;
  private final ResumeWindow window;
  private final @Nullable AnswerSender sender;
  private final long pollFd;
  private final long greeting;
  private final long watchedFd;
  private volatile long receivedBytes;

  /** Whether the session's thread waits for something to come. */
  private volatile boolean isWaiting;

  private State state = State.CONNECTED;

  /** Written with the lock held. */
  private ProgramConnection connection;

  /** The position in the stream of the first byte of the buffer. */
  private long origin;

  /** Frames up to here have been looked at ahead of their turn. */
  private int looked;

  /** The position behind the whole frames that a lost connection brought. */
  private long received;

  private int greeted;
  private String cause = "";
  private long lostNanos;

  @GuardedBy("this")
  private @Nullable ProgramConnection offered;

  /** When the connection was found to be gone, by any thread; 0: it is there. */
  @GuardedBy("this")
  private long goneNanos;

  @GuardedBy("this")
  private boolean silent;

  @GuardedBy("this")
  private boolean woken;

  @GuardedBy("this")
  private boolean released;

  /** Whether the session's thread has something else to do than to wait for a connection. */
  @GuardedBy("this")
  private boolean interrupted;

  /**
   * Starts with a connection, whose descriptor stays the caller's to close.
   *
   * @param sender the sending end; null if there is no later connection
   */
  CallStream(ProgramConnection connection, ResumeWindow window, @Nullable AnswerSender sender) {
    this.connection = connection;
    firstFd = connection.fd();
    this.window = window;
    this.sender = sender;
    bufferBytes = sender == null ? RECEIVE_BYTES : RESUMABLE_BYTES;
    // Pages are taken as they are touched; beyond the first ones, hardly ever.
    buffer = sender == null ? Posix.map(bufferBytes + WORK_BYTES) : PREPARED.take();
    pollFd = buffer + bufferBytes;
    watchedFd = pollFd + 8;
    // To the end: a record may bring more.
    greeting = watchedFd + 8;
  }

  /** Starts with a connection, which others may follow if the window exists. */
  static CallStream of(ProgramConnection connection, ResumeWindow window) {
    AnswerSender sender = window.exists() ? new AnswerSender(new AnswerLog(), connection) : null;
    return new CallStream(connection, window, sender);
  }

  /** Goes on where the stream of another process was, without a connection yet. */
  static CallStream at(ResumePoint point, ResumeWindow window) {
    AnswerLog log = new AnswerLog(point.acknowledged(), point.kept());
    AnswerSender sender = new AnswerSender(log, point.furthest());
    CallStream stream = new CallStream(new AbsentConnection(), window, sender);
    stream.origin = point.executed();
    stream.received = point.executed();
    stream.cause = "the session has come from another server";
    stream.state = State.LOST;
    stream.restartWindow();
    return stream;
  }

  /**
   * Touches what the next stream receives into in this process, so that its first bytes need not
   * wait for pages. Any thread may call it.
   */
  static void prepare() {
    PREPARED.prepare();
  }

  /** The sending end, of a stream that can be resumed. */
  @Nullable AnswerSender sender() {
    return sender;
  }

  /** Any thread may ask. */
  long receivedBytes() {
    return receivedBytes;
  }

  /** See {@link ProgramConnection#takeDescriptor}. */
  int takeDescriptor() {
    return isConnected() ? connection.takeDescriptor() : -1;
  }

  boolean isConnected() {
    return state == State.CONNECTED;
  }

  /** Returns whether a whole frame has come that is not executed, or something that is none. */
  boolean hasWholeFrame() {
    return Frames.endOfWhole(buffer + start, buffer + end) > buffer + start;
  }

  /** Receives what there is room for; returns 0 or an error where the connection is gone. */
  long receive() {
    return receive(Posix.MSG_DONTWAIT, RECEIVE_BYTES);
  }

  /** As above, and waits for something. */
  long awaitAndReceive() {
    isWaiting = true;
    long result = receive(0, RECEIVE_BYTES);
    isWaiting = false;
    return result;
  }

  private long receive(int flags, int limit) {
    long result = connection.receive(buffer + end, limit - end, flags);
    if (result > 0) {
      end += (int) result;
      receivedBytes += result;
    }
    return result;
  }

  /** Receives behind frames that wait for their turn, if there is room. */
  long receiveAhead() {
    return end >= RECEIVE_BYTES ? -Posix.EAGAIN : receive();
  }

  /**
   * As above, up to all that the client may send without an acknowledgement, and waits a little for
   * it.
   */
  long receiveFarAhead() {
    return isReadable(LOOK_MILLIS) ? receive(Posix.MSG_DONTWAIT, bufferBytes) : -Posix.EAGAIN;
  }

  /** Returns whether there is no room even for that. */
  boolean isFull() {
    return bufferBytes - end < connection.leastRoomBytes();
  }

  /** Moves the beginning of a frame to the front, unless the rest of the longest frame has room. */
  void makeRoom() {
    if (start == end || RECEIVE_BYTES - start < 2 * FrameLimits.MAX_FRAME_BYTES) {
      Memory.copy(buffer + start, buffer, end - start);
      origin += start;
      looked = Math.max(0, looked - start);
      end -= start;
      start = 0;
    }
  }

  /** Goes on looking ahead, at least at {@code first}; returns a whole frame's place, or -1. */
  int lookFurther(int first) {
    int at = Math.max(looked, first);
    if (end - at < RequestHeader.BYTES) {
      return -1;
    }
    int length = Memory.getInt(buffer + at);
    if (!Frames.isLength(length) || end - at < length) {
      return -1;
    }
    looked = at + length;
    return at;
  }

  /** Returns whether the frame whose turn it is was looked at before. */
  boolean wasLookedAt() {
    return start < looked;
  }

  /** The frame whose turn it is counts for no position. */
  void discount(int lengthBytes) {
    origin -= lengthBytes;
  }

  /** The position up to which requests were executed. */
  long executed() {
    return origin + start;
  }

  /** Takes note that the connection is gone; what it brought of another frame is dropped. */
  void lose(long result, AnswerSender logged) {
    synchronized (this) {
      cause = offered != null ? "another one has come" : TcpWatch.cause(silent, result);
      Posix.shutdown(connection.fd());
      goneNanos = goneNanos == 0 ? System.nanoTime() : goneNanos;
      lostNanos = goneNanos;
      silent = false;
    }
    logged.disconnect();
    long whole = Frames.endOfWhole(buffer + start, buffer + end);
    end = (int) (whole - buffer);
    received = origin + end - Frames.controlBytes(buffer + start, whole);
    state = State.LOST;
    window.disconnected().accept(cause);
  }

  /** Waits for a later connection until the window is over. */
  @Nullable String awaitResumption(AnswerSender logged) {
    String over = null;
    isWaiting = true;
    while (over == null && state != State.CONNECTED && !isWoken() && !isInterrupted()) {
      over = resume(window.millis(), true, logged);
    }
    isWaiting = false;
    return over;
  }

  /**
   * Waits a little for a later connection, which the call under way needs; returns why the session
   * ends, if it does.
   */
  @Nullable String lookForResumption(AnswerSender logged, boolean patiently) {
    return resume(patiently ? LOOK_MILLIS : 0, false, logged);
  }

  private @Nullable String resume(long millis, boolean interruptible, AnswerSender logged) {
    long leftMillis = Math.max(0, window.millis() - sinceLossMillis());
    int waitMillis = (int) Math.min(millis, leftMillis);
    // One that has come in time may have waited for a call of the driver.
    if (state == State.ADOPTED || adopt(waitMillis, interruptible)) {
      String refused = greet(waitMillis, logged);
      if (refused != null || state == State.CONNECTED) {
        return refused;
      }
    }
    long sinceMillis = sinceLossMillis();
    // It is broken for a pause, too, after which the window begins anew.
    return sinceMillis < window.millis() || isInterrupted() ? null : over(sinceMillis);
  }

  private long sinceLossMillis() {
    return TimeUnit.NANOSECONDS.toMillis(System.nanoTime() - lostNanos);
  }

  private String over(long sinceMillis) {
    return "its connection was lost "
        + sinceMillis / 1000
        + " s ago ("
        + cause
        + ") and did not come back within its resume window of "
        + window.millis() / 1000
        + " s";
  }

  private synchronized boolean adopt(long waitMillis, boolean interruptible) {
    long deadline = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(waitMillis);
    ProgramConnection later = offered;
    while (later == null && !woken && !(interruptible && interrupted)) {
      long leftMillis = TimeUnit.NANOSECONDS.toMillis(deadline - System.nanoTime());
      if (leftMillis <= 0) {
        return false;
      }
      try {
        wait(leftMillis);
      } catch (InterruptedException e) {
        throw new IllegalStateException("the session's thread was interrupted", e);
      }
      later = offered;
    }
    if (woken || interruptible && interrupted || later == null) {
      return false;
    }
    closeOwn();
    connection = later;
    offered = null;
    goneNanos = 0;
    greeted = 0;
    state = State.ADOPTED;
    return true;
  }

  @GuardedBy("this")
  private void closeOwn() {
    if (connection.fd() == firstFd) {
      connection.release();
    } else {
      connection.close();
    }
  }

  /** Receives the first frame of a later connection. */
  private @Nullable String greet(int waitMillis, AnswerSender logged) {
    if (!isReadable(waitMillis)) {
      return null;
    }
    int roomBytes = Math.max(ResumeRequest.BYTES - greeted, connection.leastRoomBytes());
    long result = connection.receive(greeting + greeted, roomBytes, Posix.MSG_DONTWAIT);
    if (result > 0) {
      greeted += (int) result;
      return greeted >= ResumeRequest.BYTES ? begin(logged) : null;
    }
    String violation = ProgramConnection.violation(result);
    if (violation != null) {
      logged.refuse(connection, violation);
      return violation;
    }
    if (result != -Posix.EAGAIN) {
      synchronized (this) {
        Posix.shutdown(connection.fd());
        goneNanos = lostNanos;
        silent = false;
      }
      state = State.LOST;
    }
    return null;
  }

  private boolean isReadable(int waitMillis) {
    return connection.awaitReadable(pollFd, waitMillis);
  }

  private @Nullable String begin(AnswerSender logged) {
    long position = Memory.getLong(greeting + ResumeRequest.RECEIVED);
    int behind = greeted - ResumeRequest.BYTES;
    String refused = Frames.rejectionReason(greeting, behind > bufferBytes - end, logged);
    if (refused != null) {
      logged.refuse(connection, refused);
      return refused;
    }
    logged.resume(connection, position, received);
    // Records bring what follows as well.
    Memory.copy(greeting + ResumeRequest.BYTES, buffer + end, behind);
    end += behind;
    receivedBytes += behind;
    lostNanos = 0;
    state = State.CONNECTED;
    window.resumed().run();
    return null;
  }

  /** Offers a later connection, which is the stream's to close. Any thread may call it. */
  synchronized void offer(ProgramConnection later) {
    if (released) {
      later.close();
      return;
    }
    if (offered != null) {
      offered.close();
    }
    offered = later;
    // The former one may look alive: the client has given it up.
    Posix.shutdown(connection.fd());
    notifyAll();
  }

  /** Has the session's thread notice that the session ends. Any thread may call it. */
  synchronized void wake() {
    woken = true;
    Posix.shutdown(connection.fd());
    notifyAll();
  }

  /** Has the session's thread come back from waiting for a connection, or not. Any thread may. */
  synchronized void interrupt(boolean comesBack) {
    interrupted = comesBack;
    notifyAll();
  }

  private synchronized boolean isInterrupted() {
    return interrupted;
  }

  /** Breaks the connection if the session's thread waits for something to come. Any thread may. */
  synchronized void cutWhileWaiting() {
    if (isWaiting && !released) {
      cut();
    }
  }

  /** Breaks the connection. */
  synchronized void cut() {
    Posix.shutdown(connection.fd());
  }

  /** Has the window of a session without a connection begin now. Any thread may call it. */
  synchronized void restartWindow() {
    if (!isConnected()) {
      lostNanos = System.nanoTime();
      goneNanos = lostNanos;
    }
  }

  /** Returns whether another thread ends the session. Any thread may ask. */
  synchronized boolean isWoken() {
    return woken;
  }

  /**
   * Looks at the connection now and then; returns for how long there has been none, unless it was
   * broken for a pause, after which the window begins anew. Any thread may call it.
   */
  synchronized long watch() {
    if (released || interrupted || offered != null && !isGone(offered.fd())) {
      return 0;
    }
    if (goneNanos == 0) {
      if (isGone(connection.fd())) {
        goneNanos = System.nanoTime();
      } else if (TcpWatch.isSilent(connection.fd())) {
        silent = true;
        goneNanos = System.nanoTime();
        Posix.shutdown(connection.fd());
      }
    }
    return goneNanos == 0 ? 0 : System.nanoTime() - goneNanos;
  }

  @GuardedBy("this")
  private boolean isGone(int fd) {
    Memory.putInt(watchedFd, fd);
    Memory.putInt(watchedFd + 4, Posix.POLLRDHUP);
    return Posix.ready(watchedFd, 1) > 0;
  }

  /** Gives all memory back; the connection stays as it is. */
  synchronized void release() {
    released = true;
    if (offered != null) {
      offered.close();
      offered = null;
    }
    Posix.unmap(buffer, bufferBytes + WORK_BYTES);
  }
}
