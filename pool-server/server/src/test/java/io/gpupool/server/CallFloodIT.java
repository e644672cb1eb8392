// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server;

import static org.assertj.core.api.Assertions.assertThat;

import com.google.protobuf.ByteString;
import com.google.protobuf.UnknownFieldSet;
import io.gpupool.control.v1.PoolGrpc;
import io.gpupool.control.v1.VersionReply;
import io.gpupool.control.v1.VersionRequest;
import io.grpc.CallOptions;
import io.grpc.ClientCall;
import io.grpc.ManagedChannel;
import io.grpc.Metadata;
import io.grpc.Status;
import io.grpc.netty.NettyChannelBuilder;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Somebody without a token who begins calls and does not end them, over real gRPC. */
class CallFloodIT {
  private static final int CONNECTIONS = 3;
  private static final int CALLS = 200;

  private final CountDownLatch left = new CountDownLatch(CONNECTIONS * CALLS);
  private final Queue<Status.Code> codes = new ConcurrentLinkedQueue<>();

  @Test
  void calls_neverEndedWithLargeMessages_areEndedByTheServer(@TempDir Path folder)
      throws Exception {
    List<ManagedChannel> connections = new ArrayList<>();
    try (Pool pool = Pool.withTokens(folder)) {
      for (int i = 0; i < CONNECTIONS; i++) {
        ManagedChannel connection =
            NettyChannelBuilder.forAddress("127.0.0.1", pool.server.controlPort())
                .usePlaintext()
                .build();
        connections.add(connection);
        for (int call = 0; call < CALLS; call++) {
          begin(connection);
        }
      }
      assertThat(pool.stub.version(VersionRequest.getDefaultInstance()).getServer())
          .isEqualTo("test");
      assertThat(left.await(120, TimeUnit.SECONDS)).as("calls left: %s", left.getCount()).isTrue();
      assertThat(codes)
          .contains(Status.Code.RESOURCE_EXHAUSTED, Status.Code.DEADLINE_EXCEEDED)
          .containsOnly(Status.Code.RESOURCE_EXHAUSTED, Status.Code.DEADLINE_EXCEEDED);
      assertThat(codes.stream().filter(code -> code == Status.Code.DEADLINE_EXCEEDED).count())
          .isLessThanOrEqualTo(CONNECTIONS * 16);
    } finally {
      connections.forEach(ManagedChannel::shutdownNow);
    }
  }

  private void begin(ManagedChannel connection) {
    ClientCall<VersionRequest, VersionReply> call =
        connection.newCall(PoolGrpc.getVersionMethod(), CallOptions.DEFAULT);
    call.start(
        new ClientCall.Listener<>() {
          @Override
          public void onClose(Status status, Metadata trailers) {
            codes.add(status.getCode());
            left.countDown();
          }
        },
        new Metadata());
    call.request(1);
    call.sendMessage(large());
  }

  private static VersionRequest large() {
    return VersionRequest.newBuilder()
        .setUnknownFields(
            UnknownFieldSet.newBuilder()
                .addField(
                    15,
                    UnknownFieldSet.Field.newBuilder()
                        .addLengthDelimited(ByteString.copyFrom(new byte[30_000]))
                        .build())
                .build())
        .build();
  }
}
