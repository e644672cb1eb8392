// SPDX-License-Identifier: Apache-2.0
package io.gpupool.agent.attach;

import io.gpupool.transport.Descriptors;
import io.gpupool.transport.Detaching;
import io.gpupool.transport.Relay;
import io.gpupool.transport.SocketPair;
import io.gpupool.transport.tls.TakenConnection;
import io.gpupool.transport.tls.TlsRelay;
import io.netty.channel.epoll.EpollDomainSocketChannel;
import io.netty.channel.unix.FileDescriptor;
import io.netty.channel.unix.UnixChannel;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.concurrent.CompletableFuture;

/**
 * The hand-over of a call stream to a program beside its own connection: the connection itself, or
 * one end of a socket pair. This process then relays between the other end and the connection.
 */
final class HandOver {
  private HandOver() {}

  /**
   * Takes a connection whose handshake is done.
   *
   * @param name of the session, for the threads
   * @param encrypted whether the connection is over TLS, so that bytes have to be relayed
   * @param relay whether bytes are relayed although they need not be
   * @return a descriptor, which the caller must close; completed on the channel's event loop
   */
  static CompletableFuture<FileDescriptor> of(
      UnixChannel connection, String name, boolean encrypted, boolean relay) {
    if (encrypted) {
      return relayOverTls(connection, name);
    }
    return relay ? relay(connection) : Detaching.detach(connection);
  }

  /** Returns a stream that has ended already: whoever gets it resumes its session. */
  static CompletableFuture<FileDescriptor> ended() {
    try {
      SocketPair pair = SocketPair.open();
      Detaching.closeQuietly(pair.first());
      return CompletableFuture.completedFuture(pair.second());
    } catch (IOException e) {
      return CompletableFuture.failedFuture(e);
    }
  }

  private static CompletableFuture<FileDescriptor> relayOverTls(
      UnixChannel connection, String name) {
    return TakenConnection.of(connection)
        .thenApply(taken -> {
          try {
            SocketPair pair = SocketPair.open();
            // The program's end closes it, however the program ends.
            TlsRelay ignored = TlsRelay.start(name, taken, pair.first(), () -> {});
            return pair.second();
          } catch (IOException e) {
            taken.close();
            throw new UncheckedIOException(e);
          }
        });
  }

  private static CompletableFuture<FileDescriptor> relay(UnixChannel connection) {
    CompletableFuture<FileDescriptor> handed = new CompletableFuture<>();
    SocketPair pair;
    EpollDomainSocketChannel own;
    try {
      pair = SocketPair.open();
      Descriptors.setBlocking(pair.first().intValue(), false);
      own = new EpollDomainSocketChannel(pair.first().intValue());
    } catch (IOException e) {
      connection.close();
      return CompletableFuture.failedFuture(e);
    }
    own.config().setAutoRead(false);
    connection
        .eventLoop()
        .register(own)
        .addListener(registered -> {
          if (registered.isSuccess()) {
            Relay.join(connection, own);
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
