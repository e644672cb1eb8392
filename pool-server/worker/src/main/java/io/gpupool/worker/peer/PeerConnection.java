// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker.peer;

import com.google.errorprone.annotations.concurrent.GuardedBy;
import io.gpupool.worker.os.Memory;
import io.gpupool.worker.os.Posix;
import java.util.ArrayDeque;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.atomic.LongAdder;
import java.util.concurrent.locks.ReentrantLock;

/**
 * The connection to one other worker: a thread that reads, and one that sends what has to wait.
 * Short frames leave at once if nothing is in their way; whoever posts one never waits.
 */
final class PeerConnection {
  private static final int MAX_PIECE_BYTES = 1 << 20;
  private static final int SCRATCH_BYTES = 128;

  private final int link;
  private final PeerListener listener;
  private final LongAdder receivedBytes;
  private final LongAdder sentBytes;
  private final ExecutorService sender;

  /** Whoever holds it writes to the socket. */
  private final ReentrantLock writing = new ReentrantLock(true);

  /** Short frames that have not left, each with its length first. */
  @GuardedBy("posted")
  private final ArrayDeque<long[]> posted = new ArrayDeque<>();

  /** The frame that leaves now, for whoever writes, and how much of it has. */
  private final long out = Posix.map(SCRATCH_BYTES);

  private int outBytes;
  private int outSent;
  private volatile int fd = -1;
  private volatile boolean over;
  private boolean told;

  PeerConnection(int link, PeerListener listener, LongAdder receivedBytes, LongAdder sentBytes) {
    this.link = link;
    this.listener = listener;
    this.receivedBytes = receivedBytes;
    this.sentBytes = sentBytes;
    sender = Executors.newSingleThreadExecutor(task -> daemon("peer-send", task));
  }

  /** Begins with a connected socket; false if there was one already, or all is over. */
  synchronized boolean connect(int socket) {
    if (fd >= 0 || over) {
      return false;
    }
    fd = socket;
    daemon("peer-receive", this::receiveAll).start();
    later(this::writeAll);
    return true;
  }

  void refuse(String why) {
    end(why, false);
  }

  /** Nothing is heard of it any more. */
  synchronized void close() {
    told = true;
    over = true;
    if (fd >= 0) {
      Posix.shutdown(fd);
    }
    sender.shutdown();
  }

  /** Sends a short frame soon. */
  void post(int kind, int value, long ticket, long... more) {
    long[] frame = new long[3 + more.length];
    frame[0] = 8L * frame.length | (long) kind << 32;
    frame[1] = Integer.toUnsignedLong(value);
    frame[2] = ticket;
    System.arraycopy(more, 0, frame, 3, more.length);
    synchronized (posted) {
      posted.add(frame);
    }
    boolean left = false;
    if (fd >= 0 && writing.tryLock()) {
      try {
        left = writePosted(Posix.MSG_DONTWAIT);
      } finally {
        writing.unlock();
      }
    }
    if (!left) {
      later(this::writeAll);
    }
  }

  void serve(Runnable task) {
    later(task);
  }

  void sendPiece(long ticket, long offset, long address, int lengthBytes) {
    writing.lock();
    try {
      if (over || !writePosted(0)) {
        return;
      }
      int padding = PeerFrames.padded(lengthBytes) - lengthBytes;
      int headBytes = PeerFrames.HEADER_BYTES + PeerFrames.LONG_BYTES;
      Memory.putLong(out, headBytes + lengthBytes + padding | (long) PeerFrames.PIECE << 32);
      Memory.putLong(out + PeerFrames.VALUE_OFFSET, lengthBytes);
      Memory.putLong(out + PeerFrames.TICKET_OFFSET, ticket);
      Memory.putLong(out + PeerFrames.HEADER_BYTES, offset);
      Memory.putLong(out + headBytes, 0);
      boolean sent =
          write(out, headBytes, true)
              && write(address, lengthBytes, padding > 0)
              && (padding == 0 || write(out + headBytes, padding, false));
      if (sent) {
        sentBytes.add(lengthBytes);
      }
    } finally {
      writing.unlock();
    }
  }

  private boolean write(long address, int lengthBytes, boolean moreFollows) {
    int error = Posix.sendAll(fd, address, lengthBytes, moreFollows);
    if (error != 0) {
      end("the connection broke: error " + -error, false);
    }
    return error == 0;
  }

  private void writeAll() {
    writing.lock();
    try {
      if (fd >= 0) {
        writePosted(0);
      }
    } finally {
      writing.unlock();
    }
  }

  /** Writes short frames; false if some are left. */
  private boolean writePosted(int flags) {
    while (!over) {
      if (outSent == outBytes && !nextPosted()) {
        return true;
      }
      long count = Posix.send(fd, out + outSent, outBytes - outSent, flags);
      if (count == -Posix.EAGAIN) {
        return false;
      }
      if (count < 0) {
        end("the connection broke: error " + -count, false);
        return false;
      }
      outSent += (int) count;
    }
    return false;
  }

  private boolean nextPosted() {
    long[] frame;
    synchronized (posted) {
      frame = posted.poll();
    }
    outSent = 0;
    outBytes = 0;
    if (frame == null) {
      return false;
    }
    for (long word : frame) {
      Memory.putLong(out + outBytes, word);
      outBytes += Long.BYTES;
    }
    return true;
  }

  private void later(Runnable task) {
    try {
      sender.execute(task);
    } catch (RejectedExecutionException e) {
      // All is over.
    }
  }

  private void receiveAll() {
    long in = Posix.map(SCRATCH_BYTES);
    String why = "its server closed the connection";
    boolean malformed = false;
    try {
      while (receive(in, PeerFrames.HEADER_BYTES)) {
        receiveFrame(in);
      }
    } catch (PeerException e) {
      why = "it sent what it must not: " + e.getMessage();
      malformed = true;
    } finally {
      Posix.unmap(in, SCRATCH_BYTES);
    }
    end(why, malformed);
    writing.lock();
    try {
      // Nobody writes from now on, so the descriptor's number may become another's.
      synchronized (this) {
        Posix.close(fd);
        fd = -1;
      }
    } finally {
      writing.unlock();
    }
  }

  private void receiveFrame(long in) throws PeerException {
    int length = Memory.getInt(in);
    int kind = Memory.getShort(in + PeerFrames.KIND_OFFSET);
    int value = Memory.getInt(in + PeerFrames.VALUE_OFFSET);
    long ticket = Memory.getLong(in + PeerFrames.TICKET_OFFSET);
    boolean isPiece = kind == PeerFrames.PIECE && value > 0 && value <= MAX_PIECE_BYTES;
    int rest = kind == PeerFrames.PULL || isPiece ? PeerFrames.LONG_BYTES : 0;
    if (length != PeerFrames.HEADER_BYTES + rest + (isPiece ? PeerFrames.padded(value) : 0)) {
      throw new PeerException(
          "kind " + kind + " of " + Integer.toUnsignedString(length) + " bytes");
    }
    if (rest > 0 && !receive(in + PeerFrames.HEADER_BYTES, rest)) {
      return;
    }
    long more = Memory.getLong(in + PeerFrames.HEADER_BYTES);
    switch (kind) {
      case PeerFrames.TICKET -> listener.ticketCame(link, ticket);
      case PeerFrames.PULL -> listener.pullCame(link, ticket, more);
      case PeerFrames.END -> listener.pullEnded(link, ticket, value);
      case PeerFrames.PIECE -> receivePiece(in, ticket, more, value);
      default -> throw new PeerException("kind " + kind);
    }
  }

  private void receivePiece(long in, long ticket, long offset, int lengthBytes)
      throws PeerException {
    long address = listener.place(link, ticket, offset, lengthBytes);
    int padding = PeerFrames.padded(lengthBytes) - lengthBytes;
    if (receive(address, lengthBytes) && receive(in, padding)) {
      receivedBytes.add(lengthBytes);
      listener.placed(link, ticket, offset, lengthBytes);
    }
  }

  /** Receives all of that many bytes; false at the end. */
  private boolean receive(long address, int lengthBytes) {
    int there = 0;
    while (there < lengthBytes) {
      long count = Posix.recv(fd, address + there, lengthBytes - there, 0);
      if (count <= 0) {
        return false;
      }
      there += (int) count;
    }
    return true;
  }

  private void end(String why, boolean malformed) {
    boolean first;
    synchronized (this) {
      first = !told;
      told = true;
      over = true;
      if (fd >= 0) {
        Posix.shutdown(fd);
      }
    }
    if (first) {
      listener.lost(link, why, malformed);
    }
  }

  private static Thread daemon(String name, Runnable task) {
    Thread thread = new Thread(task, name);
    thread.setDaemon(true);
    return thread;
  }
}
