// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.tls;

import io.gpupool.transport.Descriptors;
import io.gpupool.transport.Detaching;
import io.gpupool.transport.StreamKeepAlive;
import io.gpupool.transport.StreamSilence;
import io.gpupool.transport.TcpState;
import io.gpupool.transport.tls.TlsRelay;
import io.netty.channel.EventLoop;
import io.netty.channel.unix.FileDescriptor;
import java.io.IOException;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.ScheduledFuture;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * A watch over the connection of one relay. It ends the relay when the other end has been silent
 * for too long, which the worker sees as the end of its stream. Runs on an event loop.
 */
final class RelayWatch {
  /** A copy, whose number is not another file's after the relay's end. */
  private final FileDescriptor connection;

  private final EventLoop loop;
  private final StreamSilence silence;
  private @Nullable ScheduledFuture<?> looking;
  private boolean ended;

  private RelayWatch(FileDescriptor connection, EventLoop loop, StreamSilence silence) {
    this.connection = connection;
    this.loop = loop;
    this.silence = silence;
  }

  /** Makes the watch over a connection, whose descriptor stays the caller's. */
  static RelayWatch open(FileDescriptor connection, EventLoop loop, boolean resumable)
      throws IOException {
    return new RelayWatch(
        new FileDescriptor(Descriptors.duplicate(connection.intValue())),
        loop,
        new StreamSilence(StreamKeepAlive.limitSeconds(resumable)));
  }

  /** Looks at the connection once a second from now on. */
  void begin(TlsRelay relay) {
    loop.execute(() -> {
      if (!ended) {
        looking = loop.scheduleAtFixedRate(() -> look(relay), 1, 1, TimeUnit.SECONDS);
      }
    });
  }

  /** Ends the watch, for any thread. */
  void end() {
    try {
      loop.execute(() -> {
        ended = true;
        if (looking != null) {
          looking.cancel(false);
        }
        Detaching.closeQuietly(connection);
      });
    } catch (RejectedExecutionException e) {
      // The server ends, and nothing looks any more.
      Detaching.closeQuietly(connection);
    }
  }

  private void look(TlsRelay relay) {
    try {
      if (silence.isTooLong(TcpState.of(connection.intValue()), System.nanoTime())) {
        relay.close();
      }
    } catch (IOException e) {
      // The connection has ended, which the relay knows.
    }
  }
}
