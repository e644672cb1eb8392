// SPDX-License-Identifier: Apache-2.0
package io.gpupool.client.connection;

import io.gpupool.transport.tls.TlsContext;
import io.gpupool.transport.tls.TlsEngines;
import io.grpc.CallCredentials;
import io.grpc.CallOptions;
import io.grpc.Channel;
import io.grpc.ClientCall;
import io.grpc.ClientInterceptor;
import io.grpc.ManagedChannel;
import io.grpc.MethodDescriptor;
import io.grpc.netty.NettyChannelBuilder;
import io.netty.channel.ChannelOption;
import io.netty.channel.EventLoopGroup;
import io.netty.channel.epoll.EpollChannelOption;
import io.netty.channel.epoll.EpollSocketChannel;
import java.security.Security;
import java.util.concurrent.TimeUnit;
import java.util.function.Supplier;
import java.util.logging.Level;
import java.util.logging.Logger;
import org.jspecify.annotations.Nullable;

/** A factory of connections to pools' control planes. For any thread. */
public final class PoolChannels {
  private static final int CONNECT_MILLIS = 5000;

  /** Pings find a server that hangs; gRPC sends them after 10 s of silence, whatever it is told. */
  private static final long KEEP_ALIVE_SECONDS = 5;

  /** Probes of the kernel find one that is gone, within {@link #KEEP_ALIVE_SECONDS}. */
  private static final int PROBE_IDLE_SECONDS = 2;

  private static final int PROBE_INTERVAL_SECONDS = 1;
  private static final int PROBES = 3;

  /** Leases, servers and GPUs are told of in one answer each, however many a pool has. */
  private static final int MAX_MESSAGE_BYTES = 64 << 20;

  /** Held, since what nobody holds forgets its level. */
  private static final Logger GRPC = Logger.getLogger("io.grpc");

  static {
    // Calls that fail say why; gRPC would tell of it besides, with where in its code it was.
    GRPC.setLevel(Level.SEVERE);
    // A server that starts again, such as a pod, may have another address under the same name.
    System.setProperty("networkaddress.cache.ttl", "1");
    Security.setProperty("networkaddress.cache.ttl", "1");
    Security.setProperty("networkaddress.cache.negative.ttl", "1");
  }

  private PoolChannels() {}

  /**
   * Connects nothing yet.
   *
   * @param token asked for with each call, since it may be renewed meanwhile; it may throw {@link
   *     IllegalArgumentException} or {@link java.io.UncheckedIOException}, which fails the call;
   *     null: none
   * @throws IllegalArgumentException if a file for TLS cannot be used
   */
  public static ManagedChannel open(
      PoolAddress address,
      @Nullable Supplier<String> token,
      ClientSecurity security,
      EventLoopGroup loops) {
    return open(
        security.secured(address),
        security.tlsFor(address).orElse(null),
        token == null ? null : new TokenCredentials(token, security.clearTokens()),
        loops);
  }

  /**
   * Connects nothing yet.
   *
   * @param tls null: the connection is in clear text
   * @param token null: calls show none
   */
  public static ManagedChannel open(
      PoolAddress address,
      @Nullable TlsContext tls,
      @Nullable TokenCredentials token,
      EventLoopGroup loops) {
    NettyChannelBuilder builder =
        address.others().isEmpty()
            ? NettyChannelBuilder.forAddress(address.host(), address.port())
            : PoolServers.channelTo(address);
    if (tls != null) {
      builder.sslContext(TlsEngines.http2(tls, true));
    } else {
      builder.usePlaintext();
    }
    if (token != null) {
      builder.intercept(showing(token));
    }
    return builder
        .intercept(new LostConnections())
        .channelType(EpollSocketChannel.class)
        .eventLoopGroup(loops)
        .maxInboundMessageSize(MAX_MESSAGE_BYTES)
        .withOption(ChannelOption.CONNECT_TIMEOUT_MILLIS, CONNECT_MILLIS)
        .withOption(ChannelOption.SO_KEEPALIVE, true)
        .withOption(EpollChannelOption.TCP_KEEPIDLE, PROBE_IDLE_SECONDS)
        .withOption(EpollChannelOption.TCP_KEEPINTVL, PROBE_INTERVAL_SECONDS)
        .withOption(EpollChannelOption.TCP_KEEPCNT, PROBES)
        .keepAliveTime(KEEP_ALIVE_SECONDS, TimeUnit.SECONDS)
        .keepAliveTimeout(KEEP_ALIVE_SECONDS, TimeUnit.SECONDS)
        .directExecutor()
        .build();
  }

  private static ClientInterceptor showing(CallCredentials credentials) {
    return new ClientInterceptor() {
      @Override
      public <Q, A> ClientCall<Q, A> interceptCall(
          MethodDescriptor<Q, A> method, CallOptions options, Channel next) {
        return next.newCall(method, options.withCallCredentials(credentials));
      }
    };
  }
}
