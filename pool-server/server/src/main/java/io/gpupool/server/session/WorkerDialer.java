// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.session;

import io.gpupool.server.stream.CallStream;
import io.gpupool.transport.SocketPair;
import io.gpupool.transport.dial.DialException;
import io.gpupool.wire.ClientHello;
import io.gpupool.wire.ServerHello;
import io.netty.channel.unix.FileDescriptor;
import java.io.IOException;
import java.util.concurrent.CompletableFuture;

/**
 * A dialer of servers for connections between workers that may be on one server. Within this
 * server, the two workers get a pair of sockets. Called by the control thread.
 *
 * @param server name of this one
 */
record WorkerDialer(String server, ServerDialer others, Sessions sessions) {
  /** Connects to a server, as {@link ServerDialer#dial} does. */
  CompletableFuture<FileDescriptor> dial(String to, ClientHello hello) {
    if (!to.equals(server)) {
      return others.dial(to, hello, true);
    }
    CompletableFuture<FileDescriptor> connected = new CompletableFuture<>();
    sessions.join(hello, new Pair(connected));
    return connected;
  }

  /**
   * A connection within this server.
   *
   * @param connected completes with the end of whoever has called
   */
  private record Pair(CompletableFuture<FileDescriptor> connected) implements CallStream {
    @Override
    public void refuse(ServerHello answer) {
      connected.completeExceptionally(
          new DialException(
              answer.status() == ServerHello.BUSY
                  ? DialException.Why.UNREACHABLE
                  : DialException.Why.REFUSED,
              answer.text()));
    }

    @Override
    public CompletableFuture<FileDescriptor> accept(ServerHello answer, boolean resumable) {
      try {
        SocketPair pair = SocketPair.open();
        connected.complete(pair.first());
        return CompletableFuture.completedFuture(pair.second());
      } catch (IOException e) {
        connected.completeExceptionally(e);
        return CompletableFuture.failedFuture(e);
      }
    }
  }
}
