// SPDX-License-Identifier: Apache-2.0
package io.gpupool.client.connection;

import io.grpc.CallOptions;
import io.grpc.Channel;
import io.grpc.ClientCall;
import io.grpc.ClientInterceptor;
import io.grpc.ForwardingClientCall.SimpleForwardingClientCall;
import io.grpc.ForwardingClientCallListener.SimpleForwardingClientCallListener;
import io.grpc.Metadata;
import io.grpc.MethodDescriptor;
import io.grpc.Status;
import java.nio.channels.ClosedChannelException;

/**
 * An interceptor that reports UNAVAILABLE wherever the connection was lost. If a call begins just
 * as it is, gRPC reports UNKNOWN (grpc-java's issue 10120), as for errors that no other server
 * would answer differently.
 */
final class LostConnections implements ClientInterceptor {
  @Override
  public <Q, A> ClientCall<Q, A> interceptCall(
      MethodDescriptor<Q, A> method, CallOptions options, Channel next) {
    return new SimpleForwardingClientCall<>(next.newCall(method, options)) {
      @Override
      public void start(Listener<A> listener, Metadata headers) {
        super.start(
            new SimpleForwardingClientCallListener<>(listener) {
              @Override
              public void onClose(Status status, Metadata trailers) {
                super.onClose(isLost(status) ? lost(status) : status, trailers);
              }
            },
            headers);
      }
    };
  }

  private static boolean isLost(Status status) {
    if (status.getCode() != Status.Code.UNKNOWN) {
      return false;
    }
    Throwable cause = status.getCause();
    while (cause != null && !(cause instanceof ClosedChannelException)) {
      cause = cause.getCause();
    }
    return cause != null;
  }

  private static Status lost(Status status) {
    return Status.UNAVAILABLE
        .withDescription("the connection was closed")
        .withCause(status.getCause());
  }
}
