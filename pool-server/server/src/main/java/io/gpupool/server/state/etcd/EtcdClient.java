// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.state.etcd;

import com.google.errorprone.annotations.concurrent.GuardedBy;
import io.gpupool.server.state.StateException;
import io.gpupool.transport.EventLoops;
import io.grpc.CallOptions;
import io.grpc.ManagedChannel;
import io.grpc.Metadata;
import io.grpc.MethodDescriptor;
import io.grpc.Status;
import io.grpc.StatusRuntimeException;
import io.grpc.netty.GrpcSslContexts;
import io.grpc.netty.NettyChannelBuilder;
import io.grpc.stub.ClientCalls;
import io.grpc.stub.MetadataUtils;
import io.netty.channel.ChannelOption;
import io.netty.channel.EventLoopGroup;
import io.netty.channel.epoll.EpollSocketChannel;
import io.netty.handler.ssl.SslContextBuilder;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.TimeUnit;
import javax.net.ssl.SSLException;

/**
 * The connections to the members of an etcd cluster. One is used until it fails, then the next. For
 * any thread.
 */
final class EtcdClient implements AutoCloseable {
  private static final int CONNECT_MILLIS = 1000;
  private static final long CLOSE_MILLIS = 500;
  private static final long KEEP_ALIVE_SECONDS = 10;
  private static final int MAX_MESSAGE_BYTES = 64 << 20;

  private final EtcdOptions options;
  private final EventLoopGroup loops = EventLoops.create("gpupool-etcd", 1);
  private final List<ManagedChannel> members = new ArrayList<>();

  @GuardedBy("this")
  private int current;

  EtcdClient(EtcdOptions options) throws StateException {
    this.options = options;
    try {
      for (EtcdOptions.Endpoint endpoint : options.endpoints()) {
        members.add(connect(options, endpoint));
      }
    } catch (SSLException | IllegalArgumentException e) {
      close();
      throw new StateException(
          "the certificates for etcd cannot be used ("
              + e.getMessage()
              + "); are they in PEM form?",
          e);
    }
  }

  private ManagedChannel connect(EtcdOptions options, EtcdOptions.Endpoint endpoint)
      throws SSLException {
    NettyChannelBuilder builder =
        NettyChannelBuilder.forAddress(endpoint.host(), endpoint.port())
            .channelType(EpollSocketChannel.class)
            .eventLoopGroup(loops)
            .withOption(ChannelOption.CONNECT_TIMEOUT_MILLIS, CONNECT_MILLIS)
            .keepAliveTime(KEEP_ALIVE_SECONDS, TimeUnit.SECONDS)
            .keepAliveTimeout(KEEP_ALIVE_SECONDS / 2, TimeUnit.SECONDS)
            .maxInboundMessageSize(MAX_MESSAGE_BYTES)
            .disableRetry()
            .intercept(MetadataUtils.newAttachHeadersInterceptor(hasLeader()));
    if (options.ca() == null) {
      return builder.usePlaintext().build();
    }
    SslContextBuilder tls = GrpcSslContexts.forClient().trustManager(options.ca().toFile());
    if (options.cert() != null) {
      tls.keyManager(options.cert().toFile(), Objects.requireNonNull(options.key()).toFile());
    }
    return builder.sslContext(tls.build()).build();
  }

  /** A member that has lost its leader ends such calls instead of waiting for one. */
  private static Metadata hasLeader() {
    Metadata metadata = new Metadata();
    metadata.put(Metadata.Key.of("hasleader", Metadata.ASCII_STRING_MARSHALLER), "true");
    return metadata;
  }

  /** The member that is used now. */
  synchronized ManagedChannel member() {
    return members.get(current);
  }

  /** Turns to the next member, unless another thread has done so already. */
  synchronized void leave(ManagedChannel member) {
    if (members.get(current) == member) {
      current = (current + 1) % members.size();
      // However often it has failed before: at once.
      members.get(current).resetConnectBackoff();
    }
  }

  /** One request and its answer; a member that does not serve it is left. */
  <Q, A> A call(MethodDescriptor<Q, A> method, Q request, long limitMillis) {
    ManagedChannel member = member();
    try {
      return ClientCalls.blockingUnaryCall(
          member,
          method,
          CallOptions.DEFAULT.withDeadlineAfter(limitMillis, TimeUnit.MILLISECONDS),
          request);
    } catch (StatusRuntimeException e) {
      if (!isRefusal(e.getStatus())) {
        leave(member);
      }
      throw e;
    }
  }

  /** Whether etcd has said no; otherwise it may have done what it was asked for. */
  static boolean isRefusal(Status status) {
    return switch (status.getCode()) {
      case INVALID_ARGUMENT,
          NOT_FOUND,
          ALREADY_EXISTS,
          PERMISSION_DENIED,
          UNAUTHENTICATED,
          RESOURCE_EXHAUSTED,
          FAILED_PRECONDITION,
          OUT_OF_RANGE,
          UNIMPLEMENTED ->
          true;
      default -> false;
    };
  }

  /** What went wrong, in words. */
  String describe(StatusRuntimeException e) {
    Throwable cause = e;
    while (cause.getCause() != null) {
      cause = cause.getCause();
    }
    Status status = e.getStatus();
    return "etcd at "
        + options
        + ": "
        + (cause != e && cause.getMessage() != null
            ? cause.getMessage()
            : status.getDescription() == null ? status.getCode() : status.getDescription());
  }

  @Override
  public void close() {
    members.forEach(ManagedChannel::shutdownNow);
    try {
      for (ManagedChannel member : members) {
        boolean ignored = member.awaitTermination(CLOSE_MILLIS, TimeUnit.MILLISECONDS);
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
    loops.shutdownGracefully(0, 1, TimeUnit.SECONDS);
  }
}
