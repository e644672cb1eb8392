// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.tls;

import io.gpupool.transport.Detaching;
import io.gpupool.transport.SocketPair;
import io.gpupool.transport.tls.TakenConnection;
import io.gpupool.transport.tls.TlsRelay;
import io.netty.channel.EventLoop;
import io.netty.channel.unix.FileDescriptor;
import io.netty.channel.unix.UnixChannel;
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
   * @param resumable whether the program may come back on another connection if this one breaks
   * @return the worker's end, blocking, which the caller must close
   */
  public static CompletableFuture<FileDescriptor> begin(UnixChannel connection, boolean resumable) {
    String name = connection.id().asShortText();
    return TakenConnection.of(connection)
        .thenApply(taken -> {
          try {
            SocketPair pair = SocketPair.open();
            RelayWatch watch = watch(taken, pair, connection.eventLoop(), resumable);
            watch.begin(TlsRelay.start(name, taken, pair.first(), watch::end));
            return pair.second();
          } catch (IOException e) {
            taken.close();
            throw new UncheckedIOException(e);
          }
        });
  }

  private static RelayWatch watch(
      TakenConnection taken, SocketPair pair, EventLoop loop, boolean resumable)
      throws IOException {
    try {
      return RelayWatch.open(taken.descriptor(), loop, resumable);
    } catch (IOException e) {
      Detaching.closeQuietly(pair.first());
      Detaching.closeQuietly(pair.second());
      throw e;
    }
  }
}
