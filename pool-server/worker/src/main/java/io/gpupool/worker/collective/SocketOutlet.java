// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker.collective;

import com.google.errorprone.annotations.concurrent.GuardedBy;
import io.gpupool.worker.os.Posix;
import java.util.ArrayDeque;
import org.jspecify.annotations.Nullable;

/**
 * The sending direction of a connection to another process. The rank's thread sends, as {@link
 * PendingSends} says, or a thread of the outlet.
 */
public final class SocketOutlet implements Outlet {
  private record Piece(long address, long lengthBytes) {}

  /** At most so much is sent before the thread receives again. */
  private static final long TURN_BYTES = 1 << 20;

  private final ConnectedSocket socket;
  private final PendingSends pending;

  /** What is to be sent, what is under way included. */
  @GuardedBy("this")
  private final ArrayDeque<Piece> pieces = new ArrayDeque<>();

  /** Of the first piece, what was sent. */
  @GuardedBy("this")
  private long firstSentBytes;

  @GuardedBy("this")
  private long givenBytes;

  @GuardedBy("this")
  private long sentBytes;

  @GuardedBy("this")
  private @Nullable Thread sender;

  /** Whether the pieces are the outlet's thread's to send. */
  @GuardedBy("this")
  private boolean left;

  /** Whether that thread reads memory of pieces. */
  @GuardedBy("this")
  private boolean sending;

  @GuardedBy("this")
  private boolean closed;

  public SocketOutlet(ConnectedSocket socket, PendingSends pending) {
    this.socket = socket;
    this.pending = pending;
  }

  ConnectedSocket socket() {
    return socket;
  }

  @Override
  public synchronized void send(long address, long lengthBytes) throws ChannelException {
    socket.check();
    if (lengthBytes == 0) {
      return;
    }
    givenBytes += lengthBytes;
    pieces.add(new Piece(address, lengthBytes));
    if (left) {
      notifyAll();
    } else {
      advance();
      if (isPending()) {
        pending.add(this);
      }
    }
  }

  /** Returns whether the rank's thread has something to send. */
  synchronized boolean isPending() {
    return !left && !pieces.isEmpty();
  }

  /** Has the rank's thread send what the socket takes; returns whether that was anything. */
  synchronized boolean advance() throws ChannelException {
    long before = sentBytes;
    boolean taken = true;
    while (taken && isPending() && sentBytes - before < TURN_BYTES) {
      Piece rest = rest();
      long wanted = Math.min(rest.lengthBytes, TURN_BYTES);
      long count = sendSome(rest.address, wanted);
      sent(count);
      taken = count == wanted;
    }
    return sentBytes > before;
  }

  /** Sends what the socket takes, perhaps nothing. */
  private long sendSome(long address, long lengthBytes) throws ChannelException {
    int fd = socket.enter();
    try {
      long count = Posix.send(fd, address, lengthBytes, Posix.MSG_DONTWAIT);
      if (count < 0 && count != -Posix.EAGAIN) {
        throw socket.lost(false, count);
      }
      return Math.max(count, 0);
    } finally {
      socket.leave();
    }
  }

  /** Returns what was not sent of the first piece. */
  @GuardedBy("this")
  private Piece rest() {
    Piece first = pieces.element();
    return new Piece(first.address + firstSentBytes, first.lengthBytes - firstSentBytes);
  }

  @GuardedBy("this")
  private void sent(long bytes) {
    sentBytes += bytes;
    firstSentBytes += bytes;
    if (firstSentBytes == pieces.element().lengthBytes) {
      pieces.remove();
      firstSentBytes = 0;
    }
  }

  /** Leaves what is to be sent to a thread of the outlet. */
  synchronized void leave() {
    if (!pieces.isEmpty()) {
      left = true;
      if (sender == null) {
        sender = Thread.ofPlatform().daemon().name("collective sender").start(this::sendAll);
      }
      notifyAll();
    }
  }

  @Override
  public synchronized long givenBytes() {
    return givenBytes;
  }

  @Override
  public void awaitTaken(long firstBytes) throws ChannelException {
    while (!isTaken(firstBytes)) {
      pending.await(null);
    }
    socket.check();
  }

  /** Waits for the outlet's thread, if that is sending; returns whether so much was taken. */
  private synchronized boolean isTaken(long firstBytes) {
    while (closed ? sending : left && sentBytes < firstBytes) {
      await();
    }
    return closed || sentBytes >= firstBytes;
  }

  @Override
  public void close() {
    socket.close();
    end();
  }

  /** Sends what is left to this thread until the channel ends. */
  private void sendAll() {
    SocketWait wait = new SocketWait();
    try {
      for (Piece rest = begin(); rest != null; rest = begin()) {
        long count = 0;
        try {
          count = sendSome(rest.address, rest.lengthBytes);
        } finally {
          stopSending(count);
        }
        if (count < rest.lengthBytes) {
          wait.add(socket, Posix.POLLOUT);
          wait.await();
        }
      }
    } catch (ChannelException e) {
      // Those who send or flush get the reason from the socket.
      end();
    }
  }

  /** Waits for something to send; null when the channel has ended. */
  private synchronized @Nullable Piece begin() {
    while (!closed && !left) {
      await();
    }
    sending = !closed;
    return closed ? null : rest();
  }

  private synchronized void stopSending(long bytes) {
    sending = false;
    sent(bytes);
    left = !pieces.isEmpty();
    notifyAll();
  }

  private synchronized void end() {
    closed = true;
    notifyAll();
  }

  /** An interrupt closes the channel. */
  @GuardedBy("this")
  private void await() {
    try {
      wait();
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      socket.close();
      closed = true;
    }
  }
}
