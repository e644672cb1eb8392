// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker.session.core;

import com.google.errorprone.annotations.concurrent.GuardedBy;
import io.gpupool.cuda.AnswerHeader;
import io.gpupool.cuda.AnswerKind;
import io.gpupool.cuda.CudaResult;
import io.gpupool.cuda.WireStruct;
import io.gpupool.worker.connection.ProgramConnection;
import io.gpupool.worker.os.Memory;
import io.gpupool.worker.os.Posix;
import java.nio.charset.StandardCharsets;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;

/**
 * The sender of a log's answers over the connection that there is, if there is one: each byte once,
 * in order, and again from where a later connection begins. Any thread may use it.
 */
public final class AnswerSender {
  private static final int CONTROL_BYTES = AnswerHeader.BYTES + 8;

  private final AnswerLog log;
  private final ReentrantLock sending = new ReentrantLock();
  private final long control = Posix.map(4096);

  /** Null: it is gone. */
  @GuardedBy("sending")
  private @Nullable ProgramConnection connection;

  /** The position behind the last byte that was handed to the present connection. */
  private volatile long handed;

  /** The same of all connections. */
  private volatile long furthest;

  private volatile long sentBytes;

  /** The position of the requests that the client was told last. */
  private volatile long toldReceived;

  /** Starts with a connection, at the beginning of a log. */
  public AnswerSender(AnswerLog log, ProgramConnection connection) {
    this.log = log;
    this.connection = connection;
  }

  /**
   * Goes on with a log of another process, without a connection.
   *
   * @param furthest the position behind the last byte that was handed to any connection
   */
  public AnswerSender(AnswerLog log, long furthest) {
    this.log = log;
    this.furthest = furthest;
    handed = log.acknowledged();
  }

  public AnswerLog log() {
    return log;
  }

  long sentBytes() {
    return sentBytes;
  }

  /** Sends what the log has, if it can. */
  public void flush() {
    sending.lock();
    try {
      pump();
    } finally {
      sending.unlock();
    }
  }

  /**
   * Tells the client which of its requests have come, unless the connection is gone. It is never
   * told less than before: another thread may have told it more, or resumed, since the caller
   * looked.
   *
   * @param wanted whether the client is to acknowledge in its turn
   */
  public void acknowledge(long received, boolean wanted) {
    sending.lock();
    try {
      pump();
      if (connection != null && handed == log.endPosition()) {
        toldReceived = Math.max(toldReceived, received);
        sendControl(AnswerKind.ACK, wanted ? 1 : 0, toldReceived);
      }
    } finally {
      sending.unlock();
    }
  }

  /** Has the client acknowledge; the log's appender waits, behind a whole frame. */
  void askForAcknowledgement() {
    acknowledge(toldReceived, true);
  }

  /** The position of the requests that the client was told last. */
  public long toldReceived() {
    return toldReceived;
  }

  /**
   * Takes note that the client has received everything up to a position.
   *
   * @return false if it cannot have, or said otherwise before
   */
  public boolean acknowledged(long position) {
    if (position < log.acknowledged() || position > handed) {
      return false;
    }
    log.acknowledge(position);
    return true;
  }

  /** Returns whether a later connection can begin at a position. */
  public boolean canResumeAt(long position) {
    return position >= log.acknowledged() && position <= furthest;
  }

  /** The position behind the last byte that was handed to any connection. */
  public long furthest() {
    return furthest;
  }

  /** The connection is gone: the log keeps what there is. The descriptor was shut down. */
  public void disconnect() {
    sending.lock();
    try {
      connection = null;
    } finally {
      sending.unlock();
    }
  }

  /**
   * Begins a later connection: tells the client what has come of it, and goes on at its place, up
   * to which it has everything.
   */
  public void resume(ProgramConnection later, long position, long received) {
    sending.lock();
    try {
      connection = later;
      handed = position;
      log.acknowledge(position);
      toldReceived = received;
      sendControl(AnswerKind.RESUMED, 0, received);
      pump();
    } finally {
      sending.unlock();
    }
  }

  /** Tells a connection that cannot begin why the session ends. */
  public void refuse(ProgramConnection later, String reason) {
    byte[] text = reason.getBytes(StandardCharsets.UTF_8);
    sending.lock();
    try {
      int padded = WireStruct.padded(text.length);
      Memory.putLong(control + AnswerHeader.BYTES + Math.max(0, padded - 8), 0);
      Memory.put(control + AnswerHeader.BYTES, text, text.length);
      header(AnswerKind.FATAL, 0, CudaResult.DEVICE_UNAVAILABLE, padded);
      int ignored = later.sendAll(control, AnswerHeader.BYTES + padded, false);
    } finally {
      sending.unlock();
    }
  }

  /** Has memory that goes copied, as far as the client does not have it. */
  public void copyLent(AnswerLog.Lender lender) {
    sending.lock();
    try {
      log.copyLent(lender);
    } finally {
      sending.unlock();
    }
  }

  /** Drops everything. The descriptor was shut down, or nobody is sending. */
  public void close() {
    sending.lock();
    try {
      log.close();
      connection = null;
    } finally {
      sending.unlock();
    }
  }

  void release() {
    close();
    log.release();
    Posix.unmap(control, 4096);
  }

  @GuardedBy("sending")
  private void pump() {
    while (connection != null) {
      AnswerLog.Range range = log.next(handed);
      if (range == null) {
        return;
      }
      // Before it is sent: the client may acknowledge it before this thread goes on.
      handed = handed + range.lengthBytes();
      furthest = Math.max(furthest, handed);
      send(range.address(), range.lengthBytes(), range.moreFollows());
    }
  }

  @GuardedBy("sending")
  private void sendControl(int kind, int tag, long received) {
    header(kind, tag, 0, 8);
    Memory.putLong(control + AnswerHeader.BYTES, received);
    send(control, CONTROL_BYTES, false);
  }

  private void header(int kind, int tag, int result, int payloadBytes) {
    Memory.putInt(control, AnswerHeader.BYTES + payloadBytes);
    Memory.putInt(control + AnswerHeader.KIND, kind);
    Memory.putInt(control + AnswerHeader.TAG, tag);
    Memory.putInt(control + AnswerHeader.RESULT, result);
  }

  @GuardedBy("sending")
  private void send(long address, int lengthBytes, boolean moreFollows) {
    ProgramConnection current = connection;
    if (current == null) {
      return;
    }
    if (current.sendAll(address, lengthBytes, moreFollows) == 0) {
      sentBytes = sentBytes + lengthBytes;
    } else {
      // The session's thread finds it by receiving.
      Posix.shutdown(current.fd());
      connection = null;
    }
  }
}
