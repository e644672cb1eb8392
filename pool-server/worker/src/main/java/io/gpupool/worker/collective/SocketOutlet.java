// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker.collective;

import com.google.errorprone.annotations.concurrent.GuardedBy;
import io.gpupool.worker.os.Posix;
import java.util.ArrayDeque;
import org.jspecify.annotations.Nullable;

/**
 * The sending direction of a connection to another process. A thread of its own sends, except for
 * what the socket takes at once when nothing is before it: a little of it costs less than another
 * thread's waking up.
 */
public final class SocketOutlet implements Outlet {
  private record Piece(long address, long lengthBytes) {}

  /** At most so much is sent at once by the thread that hands it over. */
  private static final long DIRECT_BYTES = 64 << 10;

  /** As {@code poll} has it. */
  private static final int POLLOUT = 4;

  private final ConnectedSocket socket;

  /** What the thread is to send, what it is sending included. */
  @GuardedBy("this")
  private final ArrayDeque<Piece> pieces = new ArrayDeque<>();

  @GuardedBy("this")
  private long givenBytes;

  @GuardedBy("this")
  private long sentBytes;

  @GuardedBy("this")
  private @Nullable Thread sender;

  /** Whether the thread reads memory of pieces. */
  @GuardedBy("this")
  private boolean sending;

  @GuardedBy("this")
  private boolean closed;

  public SocketOutlet(ConnectedSocket socket) {
    this.socket = socket;
  }

  @Override
  public synchronized void send(long address, long lengthBytes) throws ChannelException {
    socket.check();
    givenBytes += lengthBytes;
    long sent = pieces.isEmpty() && lengthBytes <= DIRECT_BYTES ? sendNow(address, lengthBytes) : 0;
    sentBytes += sent;
    if (sent < lengthBytes) {
      pieces.add(new Piece(address + sent, lengthBytes - sent));
      startSender();
      notifyAll();
    }
  }

  /** Sends what the socket takes. */
  private long sendNow(long address, long lengthBytes) throws ChannelException {
    if (lengthBytes == 0) {
      return 0;
    }
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

  @GuardedBy("this")
  private void startSender() {
    if (sender == null) {
      sender = Thread.ofPlatform().daemon().name("collective sender").start(this::sendAll);
    }
  }

  @Override
  public synchronized long givenBytes() {
    return givenBytes;
  }

  @Override
  public synchronized void awaitTaken(long firstBytes) throws ChannelException {
    while (closed ? sending : sentBytes < firstBytes) {
      await();
    }
    socket.check();
  }

  @Override
  public void close() {
    socket.close();
    end();
  }

  /** Sends until the channel ends. */
  private void sendAll() {
    SocketWait wait = new SocketWait(socket, POLLOUT);
    try {
      for (Piece piece = begin(); piece != null; piece = begin()) {
        try {
          sendPiece(piece, wait);
        } finally {
          stopSending();
        }
        finish(piece);
      }
    } catch (ChannelException e) {
      // Those who send or flush get the reason from the socket.
      end();
    }
  }

  private void sendPiece(Piece piece, SocketWait wait) throws ChannelException {
    int fd = socket.enter();
    try {
      long sent = 0;
      while (sent < piece.lengthBytes) {
        long rest = piece.lengthBytes - sent;
        long count = Posix.send(fd, piece.address + sent, rest, Posix.MSG_DONTWAIT);
        if (count >= 0) {
          sent += count;
        } else if (count == -Posix.EAGAIN) {
          wait.await(fd);
        } else {
          throw socket.lost(false, count);
        }
      }
    } finally {
      socket.leave();
    }
  }

  /** Waits for a piece to send; null when the channel has ended. */
  private synchronized @Nullable Piece begin() {
    while (!closed && pieces.isEmpty()) {
      await();
    }
    sending = !closed;
    return closed ? null : pieces.element();
  }

  private synchronized void stopSending() {
    sending = false;
    notifyAll();
  }

  private synchronized void finish(Piece piece) {
    pieces.remove();
    sentBytes += piece.lengthBytes;
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
