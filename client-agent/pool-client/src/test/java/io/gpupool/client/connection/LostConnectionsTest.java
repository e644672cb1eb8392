// SPDX-License-Identifier: Apache-2.0
package io.gpupool.client.connection;

import static org.assertj.core.api.Assertions.assertThat;

import io.gpupool.control.v1.ListRequest;
import io.gpupool.control.v1.PoolGrpc;
import io.grpc.CallOptions;
import io.grpc.Channel;
import io.grpc.ClientCall;
import io.grpc.ClientInterceptors;
import io.grpc.Metadata;
import io.grpc.MethodDescriptor;
import io.grpc.Status;
import io.grpc.StatusRuntimeException;
import java.io.IOException;
import java.nio.channels.ClosedChannelException;
import org.junit.jupiter.api.Test;

class LostConnectionsTest {
  /** What a caller is told when gRPC ends its call with this. */
  private static Status told(Status status) {
    Channel channel = ClientInterceptors.intercept(new Ending(status), new LostConnections());
    try {
      var ignored = PoolGrpc.newBlockingStub(channel).listLeases(ListRequest.getDefaultInstance());
      return Status.OK;
    } catch (StatusRuntimeException e) {
      return e.getStatus();
    }
  }

  @Test
  void call_connectionWasLost_isUnavailable() {
    Status closed =
        Status.UNKNOWN
            .withDescription("channel closed")
            .withCause(new IOException(new ClosedChannelException()));
    assertThat(told(closed).getCode()).isEqualTo(Status.Code.UNAVAILABLE);
    assertThat(told(closed).getDescription()).isEqualTo("the connection was closed");
  }

  @Test
  void call_anyOtherError_isToldAsItIs() {
    Status bare = Status.UNKNOWN.withDescription("a fault of the server");
    assertThat(told(bare).getCode()).isEqualTo(Status.Code.UNKNOWN);
    assertThat(told(bare).getDescription()).isEqualTo("a fault of the server");
    Status refused = Status.PERMISSION_DENIED.withCause(new ClosedChannelException());
    assertThat(told(refused).getCode()).isEqualTo(Status.Code.PERMISSION_DENIED);
  }

  /** Ends each call at once. */
  private static final class Ending extends Channel {
    private final Status status;

    Ending(Status status) {
      this.status = status;
    }

    @Override
    public <Q, A> ClientCall<Q, A> newCall(MethodDescriptor<Q, A> method, CallOptions options) {
      return new ClientCall<>() {
        @Override
        public void start(Listener<A> listener, Metadata headers) {
          listener.onClose(status, new Metadata());
        }

        @Override
        public void request(int messages) {}

        @Override
        public void cancel(String message, Throwable cause) {}

        @Override
        public void halfClose() {}

        @Override
        public void sendMessage(Q message) {}
      };
    }

    @Override
    public String authority() {
      return "test";
    }
  }
}
