// SPDX-License-Identifier: Apache-2.0
package io.gpupool.transport.http;

import com.google.errorprone.annotations.concurrent.GuardedBy;
import java.io.IOException;
import java.io.InputStream;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.Objects;

/**
 * The body of a request, which is read from the network only as its reader wants more. Filled on
 * the event loop, read by one other thread.
 */
final class RequestBody extends InputStream {
  private final Runnable more;

  @GuardedBy("this")
  private final Deque<byte[]> pieces = new ArrayDeque<>();

  private byte[] piece = {};
  private int position;

  @GuardedBy("this")
  private boolean ended;

  @GuardedBy("this")
  private boolean failed;

  /**
   * Nothing yet.
   *
   * @param more has the event loop read the next piece
   */
  RequestBody(Runnable more) {
    this.more = more;
  }

  /** Adds a piece that has come. */
  synchronized void add(byte[] bytes, boolean last) {
    pieces.add(bytes);
    ended = last;
    notifyAll();
  }

  /** The connection is closed. */
  synchronized void fail() {
    failed = true;
    notifyAll();
  }

  /** Returns whether all of it has come. */
  synchronized boolean isComplete() {
    return ended;
  }

  @Override
  public int read() throws IOException {
    byte[] one = new byte[1];
    return read(one, 0, 1) < 0 ? -1 : one[0] & 0xff;
  }

  @Override
  public int read(byte[] into, int offset, int length) throws IOException {
    Objects.checkFromIndexSize(offset, length, into.length);
    if (length == 0) {
      return 0;
    }
    if (!fill()) {
      return -1;
    }
    int count = Math.min(length, piece.length - position);
    System.arraycopy(piece, position, into, offset, count);
    position += count;
    return count;
  }

  /** Waits until there is something to read; false: there is nothing more. */
  private synchronized boolean fill() throws IOException {
    while (position == piece.length) {
      byte[] next = pieces.poll();
      if (next != null) {
        piece = next;
        position = 0;
      } else if (ended) {
        return false;
      } else if (failed) {
        throw new IOException("the connection was closed within a request's body");
      } else {
        more.run();
        awaitPiece();
      }
    }
    return true;
  }

  @GuardedBy("this")
  private void awaitPiece() throws IOException {
    try {
      while (pieces.isEmpty() && !ended && !failed) {
        wait();
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new IOException("the port is closed", e);
    }
  }
}
