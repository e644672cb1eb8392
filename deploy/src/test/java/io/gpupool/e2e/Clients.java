// SPDX-License-Identifier: Apache-2.0
package io.gpupool.e2e;

import io.gpupool.control.v1.PoolAdminGrpc;
import io.gpupool.control.v1.PoolGrpc;
import io.grpc.ClientInterceptor;
import io.grpc.ManagedChannel;
import io.grpc.Metadata;
import io.grpc.netty.NettyChannelBuilder;
import io.grpc.stub.MetadataUtils;
import java.util.concurrent.TimeUnit;

/** Calls to a server with a token. */
final class Clients implements AutoCloseable {
  private final ManagedChannel channel;
  private final ClientInterceptor bearer;

  Clients(int controlPort, String token) {
    channel = NettyChannelBuilder.forAddress("127.0.0.1", controlPort).usePlaintext().build();
    Metadata headers = new Metadata();
    headers.put(
        Metadata.Key.of("authorization", Metadata.ASCII_STRING_MARSHALLER), "Bearer " + token);
    bearer = MetadataUtils.newAttachHeadersInterceptor(headers);
  }

  PoolGrpc.PoolBlockingStub pool() {
    return PoolGrpc.newBlockingStub(channel)
        .withInterceptors(bearer)
        .withDeadlineAfter(30, TimeUnit.SECONDS);
  }

  PoolGrpc.PoolStub streams() {
    return PoolGrpc.newStub(channel).withInterceptors(bearer);
  }

  PoolAdminGrpc.PoolAdminBlockingStub admin() {
    return PoolAdminGrpc.newBlockingStub(channel)
        .withInterceptors(bearer)
        .withDeadlineAfter(30, TimeUnit.SECONDS);
  }

  @Override
  public void close() {
    channel.shutdownNow();
  }
}
