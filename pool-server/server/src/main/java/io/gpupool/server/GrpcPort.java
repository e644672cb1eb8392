// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server;

import io.gpupool.server.options.ServerOptions;
import io.gpupool.server.service.CallExecutors;
import io.gpupool.server.tenant.AuthInterceptor;
import io.gpupool.transport.tls.TlsEngines;
import io.grpc.BindableService;
import io.grpc.Metadata;
import io.grpc.Server;
import io.grpc.ServerCall;
import io.grpc.ServerCallExecutorSupplier;
import io.grpc.netty.NettyServerBuilder;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.binder.grpc.MetricCollectingServerInterceptor;
import io.micrometer.core.instrument.binder.netty4.NettyEventExecutorMetrics;
import io.netty.channel.EventLoopGroup;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.util.List;
import java.util.concurrent.Executor;
import java.util.concurrent.TimeUnit;

/** The gRPC port of a server's control plane, and the limits of its connections. */
final class GrpcPort {
  private static final int MAX_MESSAGE_BYTES = 32 * 1024;

  /** Of a connection, what nobody has asked for yet is no more than this. */
  private static final int FLOW_WINDOW_BYTES = 64 * 1024;

  private static final long HANDSHAKE_SECONDS = 10;
  private static final long IDLE_MINUTES = 15;
  private static final int MAX_METADATA_BYTES = 8 * 1024;

  /** Each lease that is held takes one; a cluster's controller holds those of all its pods. */
  private static final int MAX_CALLS_PER_CONNECTION = 16_384;

  private static final long KEEP_ALIVE_SECONDS = 5;

  private GrpcPort() {}

  /** Opens the port; the server's closing steps close it. */
  static Server open(
      ServerContext context,
      EventLoopGroup network,
      ControlConnections connections,
      AuthInterceptor access,
      CallExecutors executors,
      List<BindableService> services)
      throws IOException {
    ServerOptions options = context.options();
    NettyServerBuilder builder =
        NettyServerBuilder.forAddress(
            new InetSocketAddress(options.ports().listen(), options.ports().control()));
    if (context.tls().ports() != null) {
      builder.sslContext(TlsEngines.http2(context.tls().ports(), false));
    }
    services.forEach(builder::addService);
    // gRPC calls the interceptor that was added last before the others.
    builder.intercept(access);
    if (context.meters() != null) {
      measure(context.meters(), network, builder);
    }
    Server server =
        builder
            .channelFactory(connections::listening)
            .bossEventLoopGroup(network)
            .workerEventLoopGroup(network)
            .directExecutor()
            .callExecutor(switching(executors))
            .maxInboundMessageSize(MAX_MESSAGE_BYTES)
            .flowControlWindow(FLOW_WINDOW_BYTES)
            .handshakeTimeout(HANDSHAKE_SECONDS, TimeUnit.SECONDS)
            .maxConnectionIdle(IDLE_MINUTES, TimeUnit.MINUTES)
            .maxInboundMetadataSize(MAX_METADATA_BYTES)
            .maxConcurrentCallsPerConnection(MAX_CALLS_PER_CONNECTION)
            .keepAliveTime(KEEP_ALIVE_SECONDS, TimeUnit.SECONDS)
            .keepAliveTimeout(KEEP_ALIVE_SECONDS, TimeUnit.SECONDS)
            .permitKeepAliveTime(1, TimeUnit.SECONDS)
            .permitKeepAliveWithoutCalls(true)
            .build()
            .start();
    context.steps().add(() -> stop(server));
    return server;
  }

  private static void measure(
      MeterRegistry meters, EventLoopGroup network, NettyServerBuilder builder) {
    new NettyEventExecutorMetrics(network).bindTo(meters);
    builder.intercept(new MetricCollectingServerInterceptor(meters));
  }

  /** Calls are begun on the threads of the network, and go to their own at once. */
  private static ServerCallExecutorSupplier switching(CallExecutors executors) {
    return new ServerCallExecutorSupplier() {
      @Override
      public <Q, A> Executor getExecutor(ServerCall<Q, A> call, Metadata headers) {
        return executors.of(call.getMethodDescriptor());
      }
    };
  }

  private static void stop(Server server) {
    server.shutdown();
    try {
      if (!server.awaitTermination(1, TimeUnit.SECONDS)) {
        server.shutdownNow().awaitTermination(1, TimeUnit.SECONDS);
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }
}
