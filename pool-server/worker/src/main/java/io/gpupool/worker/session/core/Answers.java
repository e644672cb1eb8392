// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker.session.core;

import io.gpupool.cuda.AnswerHeader;
import io.gpupool.cuda.AnswerKind;
import io.gpupool.cuda.FrameLimits;
import io.gpupool.cuda.WireStruct;
import io.gpupool.worker.os.Memory;
import io.gpupool.worker.os.Posix;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.concurrent.locks.ReentrantLock;

/**
 * The sending end of a call stream. Any thread may answer; the lock, which is fair so that a long
 * copy does not shut out short replies, also guards the session's waits. Frames gather in a buffer
 * until {@link #flush}, long ones go out from where they lie. When the connection is gone, what is
 * sent is dropped: the receiving end notices.
 */
public final class Answers {
  private static final int BUFFER_BYTES = 256 << 10;
  private static final int OFFSET_BYTES = 8;
  private static final int MAX_TEXT_BYTES = 4096;

  private final int fd;
  private final ReentrantLock lock = new ReentrantLock(true);
  private final long buffer = Posix.map(BUFFER_BYTES);
  private int end;
  private volatile long sentBytes;
  private volatile long replies;
  private boolean broken;

  public Answers(int fd) {
    this.fd = fd;
    if (buffer == 0) {
      throw new OutOfMemoryError("no memory for the send buffer of a session");
    }
  }

  public void lock() {
    lock.lock();
  }

  public void unlock() {
    lock.unlock();
  }

  /** Answers a tag without payload. */
  public void reply(int tag, int result) {
    lock.lock();
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
    lock.lock();
    try {
      header(AnswerKind.DATA, tag, lengthBytes, OFFSET_BYTES + lengthBytes);
      if (broken) {
        return;
      }
      Memory.putLong(buffer + end, offset);
      end += OFFSET_BYTES;
      body(address, lengthBytes);
    } finally {
      lock.unlock();
    }
  }

  /** Has the client run a host callback. */
  public void callback(int callback, int status) {
    lock.lock();
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
    array(AnswerKind.FATAL, 0, result, bytes, Math.min(bytes.length, MAX_TEXT_BYTES));
  }

  /** Sends what the device printed, at once, for one of the program's streams. */
  public void output(int stream, byte[] bytes) {
    lock.lock();
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
    lock.lock();
    try {
      flush(false);
    } finally {
      lock.unlock();
    }
  }

  /** Calls that were answered; any thread may ask, and may see an earlier number. */
  public long replies() {
    return replies;
  }

  /** Returns how many bytes were sent since the start; any thread may ask. */
  public long sentBytes() {
    return sentBytes;
  }

  /** Gives the buffer back; nothing may be answered any more. */
  public void release() {
    lock.lock();
    try {
      broken = true;
      end = 0;
      Posix.unmap(buffer, BUFFER_BYTES);
    } finally {
      lock.unlock();
    }
  }

  private void frame(int kind, int tag, int result, long address, int lengthBytes) {
    lock.lock();
    try {
      boolean fits = AnswerHeader.BYTES + lengthBytes <= FrameLimits.MAX_FRAME_BYTES;
      int sendBytes = fits ? lengthBytes : 0;
      header(kind, tag, result, sendBytes);
      body(address, sendBytes);
    } finally {
      lock.unlock();
    }
  }

  private void array(int kind, int tag, int result, byte[] bytes, int lengthBytes) {
    lock.lock();
    try {
      header(kind, tag, result, lengthBytes);
      if (end + WireStruct.padded(lengthBytes) > BUFFER_BYTES) {
        flush(false);
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

  private void header(int kind, int tag, int result, int payloadBytes) {
    if (end + AnswerHeader.BYTES + OFFSET_BYTES > BUFFER_BYTES) {
      flush(false);
    }
    if (broken) {
      return;
    }
    long at = buffer + end;
    Memory.putInt(at, AnswerHeader.BYTES + WireStruct.padded(payloadBytes));
    Memory.putInt(at + AnswerHeader.KIND, kind);
    Memory.putInt(at + AnswerHeader.TAG, tag);
    Memory.putInt(at + AnswerHeader.RESULT, result);
    end += AnswerHeader.BYTES;
    if (kind == AnswerKind.REPLY) {
      // Under the lock.
      replies = replies + 1;
    }
  }

  private void body(long address, int lengthBytes) {
    int paddedBytes = WireStruct.padded(lengthBytes);
    if (broken || lengthBytes == 0) {
      return;
    }
    if (end + paddedBytes <= BUFFER_BYTES / 2) {
      Memory.putLong(buffer + end + paddedBytes - 8, 0);
      Memory.copy(address, buffer + end, lengthBytes);
      end += paddedBytes;
      return;
    }
    flush(true);
    send(address, lengthBytes, false);
    if (paddedBytes != lengthBytes) {
      Memory.putLong(buffer, 0);
      end = paddedBytes - lengthBytes;
    }
  }

  private void flush(boolean moreFollows) {
    if (end > 0) {
      send(buffer, end, moreFollows);
      end = 0;
    }
  }

  private void send(long address, int lengthBytes, boolean moreFollows) {
    if (!broken) {
      broken = Posix.sendAll(fd, address, lengthBytes, moreFollows) != 0;
      sentBytes = sentBytes + lengthBytes;
    }
  }
}
