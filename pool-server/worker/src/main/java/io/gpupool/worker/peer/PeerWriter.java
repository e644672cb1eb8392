// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker.peer;

import com.google.errorprone.annotations.concurrent.GuardedBy;
import io.gpupool.worker.os.Memory;
import io.gpupool.worker.os.Posix;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.LongAdder;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;

/** The writer of an outbox's frames to the connection that there is. Any thread may use it. */
final class PeerWriter {
  private static final int SCRATCH_BYTES = 128;
  private static final int NONE = -1;

  /** How long the last frame waits for a thread that is sending. */
  private static final int LEAVE_MILLIS = 500;

  private final PeerOutbox outbox;
  private final LongAdder sentBytes;

  /** Whoever holds it writes to the socket. */
  private final ReentrantLock writing = new ReentrantLock(true);

  /** The head of the frame that leaves now; behind it the padding. */
  private final long scratch = Posix.map(SCRATCH_BYTES);

  @GuardedBy("writing")
  private @Nullable PeerFrame current;

  /** How much of it has left. */
  @GuardedBy("writing")
  private int currentSent;

  /** The position up to which the bytes of pieces were counted. */
  @GuardedBy("writing")
  private long counted;

  @GuardedBy("writing")
  private int fd = NONE;

  PeerWriter(PeerOutbox outbox, LongAdder sentBytes) {
    this.outbox = outbox;
    this.sentBytes = sentBytes;
  }

  /** Goes on with a connection, whose descriptor stays the caller's. */
  void begin(int socket) {
    writing.lock();
    try {
      fd = socket;
      current = null;
    } finally {
      writing.unlock();
    }
    outbox.connected(true);
  }

  /** Lets go of a connection that was shut down; nobody writes to it afterwards. */
  void lose() {
    outbox.connected(false);
    writing.lock();
    try {
      fd = NONE;
      current = null;
    } finally {
      writing.unlock();
    }
  }

  /** Writes what can be written without waiting, and leaves the rest to the sending thread. */
  void writeSome() {
    boolean done = false;
    if (writing.tryLock()) {
      try {
        done = write(Posix.MSG_DONTWAIT);
      } finally {
        writing.unlock();
      }
    }
    if (!done) {
      outbox.stir();
    }
  }

  /** Writes everything, as long as there is a connection. */
  void writeAll() {
    writing.lock();
    try {
      boolean ignored = write(0);
    } finally {
      writing.unlock();
    }
  }

  /** Sends one last frame, unless the other worker does not take what is sent before it. */
  void leave() {
    if (!awaitTurn()) {
      return;
    }
    try {
      if (fd != NONE && write(Posix.MSG_DONTWAIT)) {
        layOut(PeerFrame.of(PeerFrames.GOODBYE, 0, 0));
        long ignored = Posix.send(fd, scratch, PeerFrames.HEADER_BYTES, Posix.MSG_DONTWAIT);
      }
    } finally {
      writing.unlock();
    }
  }

  /** Takes the lock; false if its holder is stuck in a connection that is full. */
  private boolean awaitTurn() {
    try {
      return writing.tryLock(LEAVE_MILLIS, TimeUnit.MILLISECONDS);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      return false;
    }
  }

  /** Returns whether nothing is left, or cannot be sent now anyway. */
  @GuardedBy("writing")
  private boolean write(int flags) {
    while (fd != NONE) {
      PeerFrame frame = current == null ? outbox.next() : current;
      if (frame == null) {
        return true;
      }
      if (current == null) {
        current = frame;
        currentSent = 0;
        layOut(frame);
      }
      long error = send(frame, flags);
      if (error == -Posix.EAGAIN) {
        return false;
      }
      if (error < 0) {
        // The thread that receives finds it.
        Posix.shutdown(fd);
        fd = NONE;
      } else {
        current = null;
        count(frame);
      }
    }
    return true;
  }

  /** Sends what is left of a frame; returns below 0 if it stays unfinished. */
  @GuardedBy("writing")
  private long send(PeerFrame frame, int flags) {
    int headBytes = frame.headBytes();
    int payloadEnd = headBytes + frame.payloadBytes;
    int length = frame.lengthBytes();
    while (currentSent < length) {
      long count;
      if (currentSent < headBytes) {
        int more = frame.isShort() ? flags : flags | Posix.MSG_MORE;
        count = Posix.send(fd, scratch + currentSent, headBytes - currentSent, more);
      } else if (currentSent < payloadEnd) {
        int more = payloadEnd < length ? flags | Posix.MSG_MORE : flags;
        long address = frame.payload + currentSent - headBytes;
        count = Posix.send(fd, address, payloadEnd - currentSent, more);
      } else {
        count = Posix.send(fd, scratch + headBytes, length - currentSent, flags);
      }
      if (count < 0) {
        return count;
      }
      currentSent += (int) count;
    }
    return 0;
  }

  private void layOut(PeerFrame frame) {
    long at = scratch;
    for (long word : frame.head) {
      Memory.putLong(at, word);
      at += Long.BYTES;
    }
    Memory.putLong(at, 0);
  }

  @GuardedBy("writing")
  private void count(PeerFrame frame) {
    if (frame.end > counted) {
      counted = frame.end;
      sentBytes.add(frame.payloadBytes);
    }
  }
}
