// SPDX-License-Identifier: Apache-2.0
package io.gpupool.agent.attach;

import io.gpupool.agent.options.AgentOptions;
import io.gpupool.client.StreamAbilities;
import io.gpupool.transport.UnixAddress;
import io.gpupool.transport.dial.CallStreamDialer;
import io.gpupool.wire.ClientHello;
import io.gpupool.wire.LocalSocketName;
import io.netty.channel.EventLoop;
import io.netty.channel.epoll.EpollDomainSocketChannel;
import io.netty.channel.unix.UnixChannel;
import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;

/** A connector of call streams: by a unix socket where server and agent share one, else by TCP. */
record StreamConnector(AgentOptions options, EventLoop loop) {
  /** Returns whether a stream is of this machine: the kernel carries it in clear text. */
  static boolean isLocal(UnixChannel connection) {
    return connection instanceof EpollDomainSocketChannel;
  }

  /** Returns whether a connected stream is over TLS. */
  static boolean isEncrypted(UnixChannel connection, CallStreamDialer.Target target) {
    return !isLocal(connection) && target.isEncrypted();
  }

  /** Returns how the bytes of a connected stream travel, for the log. */
  static String manner(UnixChannel connection, CallStreamDialer.Target target, boolean sealed) {
    return isLocal(connection)
        ? "over a local socket, "
        : isEncrypted(connection, target) ? "over TLS " : sealed ? "sealed, " : "";
  }

  /** Returns what of its program's abilities the agent lets it use. */
  StreamAbilities usable(StreamAbilities abilities) {
    return options.relay() ? abilities.overTcp() : abilities;
  }

  /**
   * Connects a call stream and shakes hands.
   *
   * @param local the server's socket of its own machine; null: it has none for this agent
   * @return fails with a {@code DialException}; cancelling closes the connection
   */
  CompletableFuture<UnixChannel> dial(
      CallStreamDialer.Target target, @Nullable LocalSocketName local, ClientHello hello) {
    UnixAddress address = local == null ? null : options.sockets().ofServer(local).orElse(null);
    return address == null
        ? CallStreamDialer.dial(target, hello, loop)
        : CallStreamDialer.dial(address, target, hello, loop);
  }
}
