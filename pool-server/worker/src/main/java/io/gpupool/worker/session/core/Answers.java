// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker.session.core;

import io.gpupool.cuda.AnswerHeader;
import io.gpupool.cuda.AnswerKind;
import io.gpupool.cuda.FrameLimits;
import io.gpupool.cuda.WireStruct;
import io.gpupool.worker.connection.ProgramConnection;
import io.gpupool.worker.os.Memory;
import io.gpupool.worker.os.Posix;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;

/**
 * The answers of a session. Any thread may answer; the lock, which is fair so that a long copy does
 * not shut out short replies, also guards the session's waits. Frames gather in a buffer until
 * {@link #flush}, long ones go out from where they lie. When the connection is gone, what is sent
 * is dropped: the receiving end notices.
 */
public final class Answers {
  /*
   * If the call stream can be resumed, the buffer is the chunk of a log that is being written. Whoever
   * answers then waits while the log is full, with the lock held, and the client's acknowledgements
   * are read by the session's thread alone: so that thread looks ahead through its requests while it
   * waits for the lock or for room.
   */
  private static final int BUFFER_BYTES = 256 << 10;
  private static final int OFFSET_BYTES = 8;
  private static final int MAX_TEXT_BYTES = 4096;
  private static final int MIN_LENT_BYTES = 128 << 10;
  private static final long LOOK_MICROS = 50;

  /** Null if one can follow another. */
  private final @Nullable ProgramConnection connection;

  private final @Nullable AnswerSender sender;
  private final Reader reader;
  private final ReentrantLock lock = new ReentrantLock(true);
  private final int bufferBytes;
  private long buffer;
  private int end;
  private volatile long sentBytes;
  private volatile long replies;
  private boolean broken;
  private boolean muted;

  /** The receiving end of the same stream. */
  public interface Reader {
    /** Returns whether it is the calling thread that receives. */
    boolean isCurrent();

    /** Takes note of acknowledgements that have come, and waits a little for the next. */
    void lookAhead();

    /** As above, without waiting. */
    void glance();
  }

  /** Starts to answer over a connection that there is only one of. */
  public Answers(ProgramConnection connection) {
    this.connection = connection;
    sender = null;
    reader = NOBODY;
    bufferBytes = BUFFER_BYTES;
    buffer = Posix.map(BUFFER_BYTES);
    if (buffer == 0) {
      throw new OutOfMemoryError("no memory for the send buffer of a session");
    }
  }

  /** Starts to answer over connections of which one follows the other. */
  public Answers(AnswerSender sender, Reader reader) {
    connection = null;
    this.sender = sender;
    this.reader = reader;
    bufferBytes = AnswerLog.CHUNK_BYTES;
    buffer = sender.log().chunk();
  }

  public void lock() {
    if (sender == null || lock.isHeldByCurrentThread() || !reader.isCurrent()) {
      lock.lock();
    } else {
      lockAsReader(sender);
    }
  }

  private void lockAsReader(AnswerSender logged) {
    try {
      while (!lock.tryLock(LOOK_MICROS, TimeUnit.MICROSECONDS)) {
        if (logged.log().isFull()) {
          reader.lookAhead();
        }
      }
    } catch (InterruptedException e) {
      throw new IllegalStateException("the session's thread was interrupted", e);
    }
  }

  public void unlock() {
    lock.unlock();
  }

  /** Answers a tag without payload. */
  public void reply(int tag, int result) {
    lock();
    try {
      header(AnswerKind.REPLY, tag, result, 0);
    } finally {
      lock.unlock();
    }
  }

  /** Answers a tag with a payload; too long a payload is left out. */
  public void reply(int tag, int result, long address, int lengthBytes) {
    frame(AnswerKind.REPLY, tag, result, address, lengthBytes);
  }

  /** Sends bytes of a host copy, at most {@link FrameLimits.MAX_DATA_BYTES}. */
  public void data(int tag, long offset, long address, int lengthBytes) {
    boolean ignored = data(tag, offset, address, lengthBytes, null);
  }

  /**
   * As above, of memory that can stay as it is for longer.
   *
   * @return whether it has to, until the lender is told; may only be true with a lender
   */
  public boolean data(
      int tag, long offset, long address, int lengthBytes, AnswerLog.@Nullable Lender lender) {
    lock();
    try {
      if (sender != null && sender.log().hasLentMuch() && reader.isCurrent()) {
        // The thread that receives may send many pieces in a row: their memory comes back
        // meanwhile.
        reader.glance();
      }
      header(AnswerKind.DATA, tag, lengthBytes, OFFSET_BYTES + lengthBytes);
      if (broken) {
        return false;
      }
      Memory.putLong(buffer + end, offset);
      end += OFFSET_BYTES;
      return body(address, lengthBytes, lender);
    } finally {
      lock.unlock();
    }
  }

  /** Tells the client which of its requests have come, and sends what has gathered. */
  public void acknowledge(long received) {
    lock();
    try {
      if (sender != null) {
        sender.log().commit(end);
        sender.acknowledge(received, false);
      }
    } finally {
      lock.unlock();
    }
  }

  /** Has the lender's memory copied that is still needed: it goes. */
  public void copyLent(AnswerLog.Lender lender) {
    if (sender != null) {
      sender.copyLent(lender);
    }
  }

  /** Has the client run a host callback. */
  public void callback(int callback, int status) {
    lock();
    try {
      header(AnswerKind.CALLBACK, callback, status, 0);
    } finally {
      lock.unlock();
    }
  }

  public void welcome(byte[] payload) {
    array(AnswerKind.WELCOME, 0, 0, payload, payload.length);
  }

  /** Tells why the session ends. */
  public void fatal(int result, String text) {
    byte[] bytes = text.getBytes(StandardCharsets.UTF_8);
    lock();
    try {
      if (sender != null && broken) {
        // There was no room for answers; for this one, which is the last, there is.
        broken = false;
        makeRoom();
      }
      array(AnswerKind.FATAL, 0, result, bytes, Math.min(bytes.length, MAX_TEXT_BYTES));
    } finally {
      lock.unlock();
    }
  }

  /** Sends what the device printed, at once, for one of the program's streams. */
  public void output(int stream, byte[] bytes) {
    lock();
    try {
      int pieceBytes = BUFFER_BYTES / 2;
      for (int at = 0; at < bytes.length; at += pieceBytes) {
        int length = Math.min(pieceBytes, bytes.length - at);
        byte[] piece = Arrays.copyOfRange(bytes, at, at + length);
        array(AnswerKind.OUTPUT, stream, length, piece, length);
      }
      flush();
    } finally {
      lock.unlock();
    }
  }

  /** Sends what has gathered. */
  public void flush() {
    lock();
    try {
      flush(false);
    } finally {
      lock.unlock();
    }
  }

  /** The session ends: sends what there is, and waits for room no longer. */
  public void finish() {
    if (sender != null) {
      sender.log().end();
    }
    flush();
  }

  /** Calls that were answered; any thread may ask, and may see an earlier number. */
  public long replies() {
    return replies;
  }

  /** Returns how many bytes were sent since the start; any thread may ask. */
  public long sentBytes() {
    return sender == null ? sentBytes : sender.sentBytes();
  }

  /** Gives the buffer back; nothing may be answered any more. */
  public void release() {
    lock();
    try {
      broken = true;
      end = 0;
      if (sender == null) {
        Posix.unmap(buffer, BUFFER_BYTES);
      } else {
        sender.release();
      }
    } finally {
      lock.unlock();
    }
  }

  private void frame(int kind, int tag, int result, long address, int lengthBytes) {
    lock();
    try {
      boolean fits = AnswerHeader.BYTES + lengthBytes <= FrameLimits.MAX_FRAME_BYTES;
      int sendBytes = fits ? lengthBytes : 0;
      header(kind, tag, result, sendBytes);
      boolean ignored = body(address, sendBytes, null);
    } finally {
      lock.unlock();
    }
  }

  private void array(int kind, int tag, int result, byte[] bytes, int lengthBytes) {
    lock();
    try {
      if (muted) {
        return;
      }
      header(kind, tag, result, lengthBytes);
      if (end + WireStruct.padded(lengthBytes) > bufferBytes) {
        makeRoom();
      }
      if (!broken && lengthBytes > 0) {
        Memory.putLong(buffer + end + WireStruct.padded(lengthBytes) - 8, 0);
        Memory.put(buffer + end, bytes, lengthBytes);
        end += WireStruct.padded(lengthBytes);
      }
    } finally {
      lock.unlock();
    }
  }

  /** Drops what is answered from now on, while a session is made again, or no longer. */
  public void mute(boolean isMuted) {
    lock();
    try {
      muted = isMuted;
      broken = isMuted;
    } finally {
      lock.unlock();
    }
  }

  private void header(int kind, int tag, int result, int payloadBytes) {
    if (muted) {
      return;
    }
    int frameBytes = AnswerHeader.BYTES + WireStruct.padded(payloadBytes);
    if (end + frameBytes > bufferBytes) {
      begin(frameBytes);
    }
    if (broken) {
      return;
    }
    long at = buffer + end;
    Memory.putInt(at, frameBytes);
    Memory.putInt(at + AnswerHeader.KIND, kind);
    Memory.putInt(at + AnswerHeader.TAG, tag);
    Memory.putInt(at + AnswerHeader.RESULT, result);
    end += AnswerHeader.BYTES;
    if (kind == AnswerKind.REPLY) {
      // Under the lock.
      replies = replies + 1;
    }
  }

  /** Prepares for a frame that does not fit into the buffer; the header, at least, will. */
  private void begin(int frameBytes) {
    if (sender != null) {
      awaitRoom(sender, frameBytes);
    }
    if (end + AnswerHeader.BYTES + OFFSET_BYTES > bufferBytes) {
      makeRoom();
    }
  }

  /** Waits until the log takes a frame, so that the client has something whole to acknowledge. */
  private void awaitRoom(AnswerSender logged, int frameBytes) {
    AnswerLog log = logged.log();
    log.commit(end);
    if (!log.hasRoom(frameBytes)) {
      logged.askForAcknowledgement();
      log.full(true);
      while (reader.isCurrent() && !log.isEnding() && !log.hasRoom(frameBytes)) {
        reader.lookAhead();
      }
      log.awaitRoom(frameBytes);
      log.full(false);
    }
    broken = !log.hasRoom(frameBytes);
  }

  /** Empties the buffer. */
  private void makeRoom() {
    flush(true);
    if (sender != null) {
      buffer = sender.log().nextChunk();
      end = 0;
    }
  }

  private boolean body(long address, int lengthBytes, AnswerLog.@Nullable Lender lender) {
    int paddedBytes = WireStruct.padded(lengthBytes);
    if (broken || lengthBytes == 0) {
      return false;
    }
    if (sender != null) {
      boolean lent =
          lender != null
              && lengthBytes >= MIN_LENT_BYTES
              && lend(sender.log(), address, lengthBytes, lender);
      if (!lent) {
        copy(address, lengthBytes);
      }
      pad(paddedBytes - lengthBytes);
      if (lengthBytes >= MIN_LENT_BYTES) {
        flush(false);
      }
      return lent;
    }
    if (end + paddedBytes <= BUFFER_BYTES / 2) {
      Memory.putLong(buffer + end + paddedBytes - 8, 0);
      Memory.copy(address, buffer + end, lengthBytes);
      end += paddedBytes;
      return false;
    }
    flush(true);
    send(address, lengthBytes, false);
    if (paddedBytes != lengthBytes) {
      Memory.putLong(buffer, 0);
      end = paddedBytes - lengthBytes;
    }
    return false;
  }

  private boolean lend(AnswerLog log, long address, int lengthBytes, AnswerLog.Lender lender) {
    log.commit(end);
    return log.lend(address, lengthBytes, lender);
  }

  private void copy(long address, int lengthBytes) {
    int copied = 0;
    while (copied < lengthBytes) {
      if (end == bufferBytes) {
        makeRoom();
      }
      int bytes = Math.min(lengthBytes - copied, bufferBytes - end);
      Memory.copy(address + copied, buffer + end, bytes);
      end += bytes;
      copied += bytes;
    }
  }

  private void pad(int bytes) {
    if (bytes > 0) {
      if (end + bytes > bufferBytes) {
        makeRoom();
      }
      Memory.clear(buffer + end, bytes);
      end += bytes;
    }
  }

  private void flush(boolean moreFollows) {
    if (sender != null) {
      sender.log().commit(end);
      sender.flush();
    } else if (end > 0) {
      send(buffer, end, moreFollows);
      end = 0;
    }
  }

  private void send(long address, int lengthBytes, boolean moreFollows) {
    if (!broken && connection != null) {
      broken = connection.sendAll(address, lengthBytes, moreFollows) != 0;
      sentBytes = sentBytes + lengthBytes;
    }
  }

  private static final Reader NOBODY =
      new Reader() {
        @Override
        public boolean isCurrent() {
          return false;
        }

        @Override
        public void lookAhead() {}

        @Override
        public void glance() {}
      };
}
