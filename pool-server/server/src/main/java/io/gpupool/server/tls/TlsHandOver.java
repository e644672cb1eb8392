// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.tls;

import io.gpupool.transport.Descriptors;
import io.gpupool.transport.Detaching;
import io.gpupool.transport.Relay;
import io.gpupool.transport.SocketPair;
import io.netty.channel.Channel;
import io.netty.channel.epoll.EpollDomainSocketChannel;
import io.netty.channel.unix.FileDescriptor;
import java.io.IOException;
import java.util.concurrent.CompletableFuture;

/**
 * What a worker gets of a call stream that comes over TLS: one end of a pair of sockets, between
 * whose other end and the connection this process relays. Runs on the connection's event loop.
 */
public final class TlsHandOver {
  private TlsHandOver() {}

  /**
   * Begins to relay.
   *
   * @return the worker's end, blocking, which the caller must close
   */
  public static CompletableFuture<FileDescriptor> begin(Channel connection) {
    CompletableFuture<FileDescriptor> handed = new CompletableFuture<>();
    SocketPair pair;
    try {
      pair = SocketPair.open();
    } catch (IOException e) {
      connection.close();
      return CompletableFuture.failedFuture(e);
    }
    try {
      Descriptors.setBlocking(pair.first().intValue(), false);
    } catch (IOException e) {
      Detaching.closeQuietly(pair.first());
      Detaching.closeQuietly(pair.second());
      connection.close();
      return CompletableFuture.failedFuture(e);
    }
    EpollDomainSocketChannel own = new EpollDomainSocketChannel(pair.first().intValue());
    own.config().setAutoRead(false);
    connection
        .eventLoop()
        .register(own)
        .addListener(registered -> {
          if (registered.isSuccess()) {
            Relay.join(connection, own);
            if (!connection.isActive()) {
              own.close();
            }
            handed.complete(pair.second());
          } else {
            connection.close();
            Detaching.closeQuietly(pair.second());
            handed.completeExceptionally(registered.cause());
          }
        });
    return handed;
  }
}
