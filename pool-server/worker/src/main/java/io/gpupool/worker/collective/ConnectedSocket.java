// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker.collective;

import com.google.errorprone.annotations.concurrent.GuardedBy;
import io.gpupool.worker.os.Posix;
import io.gpupool.worker.os.TcpWatch;
import org.jspecify.annotations.Nullable;

/**
 * The owner of a connected stream socket, of which both directions may be channels. It closes the
 * descriptor when it is broken and nobody uses it any more.
 */
public final class ConnectedSocket {
  private final int fd;

  @GuardedBy("this")
  private int users;

  /** Why it can no longer be used. */
  @GuardedBy("this")
  private @Nullable String failure;

  /** Takes the descriptor over. Of TCP, it should send without delay (TCP_NODELAY). */
  public ConnectedSocket(int fd) {
    this.fd = fd;
    TcpWatch.keepAlive(fd);
  }

  /** Begins to use the descriptor, until {@link #leave}. */
  synchronized int enter() throws ChannelException {
    check();
    users++;
    return fd;
  }

  synchronized void leave() {
    users--;
    closeIfUnused();
  }

  synchronized void check() throws ChannelException {
    if (failure != null) {
      throw new ChannelException(failure);
    }
  }

  /** Breaks the connection because of what a system call returned. */
  ChannelException lost(boolean silent, long result) {
    return broken("a connection between two ranks was lost: " + TcpWatch.cause(silent, result));
  }

  void close() {
    ChannelException ignored = broken("the channel between two ranks was closed");
  }

  /** Breaks the connection, if it is not broken yet; returns the reason why it is. */
  private synchronized ChannelException broken(String reason) {
    String known = failure;
    if (known != null) {
      return new ChannelException(known);
    }
    failure = reason;
    Posix.shutdown(fd);
    closeIfUnused();
    return new ChannelException(reason);
  }

  @GuardedBy("this")
  private void closeIfUnused() {
    if (failure != null && users == 0) {
      Posix.close(fd);
    }
  }
}
