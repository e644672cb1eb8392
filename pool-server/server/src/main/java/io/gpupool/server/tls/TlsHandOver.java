// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.tls;

import io.gpupool.transport.SocketPair;
import io.gpupool.transport.tls.TakenConnection;
import io.gpupool.transport.tls.TlsRelay;
import io.netty.channel.epoll.EpollSocketChannel;
import io.netty.channel.unix.FileDescriptor;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.concurrent.CompletableFuture;

/**
 * The hand-over of a TLS call stream to a worker. The worker gets one end of a socket pair, and
 * this process relays between the other end and the connection.
 */
public final class TlsHandOver {
  private TlsHandOver() {}

  /**
   * Begins to relay.
   *
   * @return the worker's end, blocking, which the caller must close
   */
  public static CompletableFuture<FileDescriptor> begin(EpollSocketChannel connection) {
    String name = connection.id().asShortText();
    return TakenConnection.of(connection)
        .thenApply(taken -> {
          try {
            SocketPair pair = SocketPair.open();
            TlsRelay.start(name, taken, pair.first(), () -> {});
            return pair.second();
          } catch (IOException e) {
            taken.close();
            throw new UncheckedIOException(e);
          }
        });
  }
}
