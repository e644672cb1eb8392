// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server;

import static io.gpupool.control.v1.Role.ROLE_USER;
import static org.assertj.core.api.Assertions.assertThat;

import io.gpupool.control.v1.CreateTenantRequest;
import io.gpupool.control.v1.CreateTokenRequest;
import io.gpupool.control.v1.LeaseEvent;
import io.gpupool.control.v1.LeaseRequest;
import io.gpupool.control.v1.ListRequest;
import io.gpupool.control.v1.PoolGrpc;
import io.gpupool.rejection.RejectionText;
import io.gpupool.server.limits.QueueLimits;
import io.gpupool.server.limits.ServerLimits;
import io.gpupool.server.limits.SessionLimits;
import io.grpc.Context;
import io.grpc.ManagedChannel;
import io.grpc.netty.NettyChannelBuilder;
import io.grpc.stub.StreamObserver;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** A tenant that fills the queue, over real gRPC. */
class QueueFloodIT {
  private static final int PLACES = 200;
  private static final int REQUESTS = 300;

  @TempDir private Path folder;

  @Test
  void requestLease_floodOfOneToken_hasHalfOfItsTenantsPlacesAndOthersAreServed() throws Exception {
    ServerLimits limits =
        new ServerLimits(SessionLimits.DEFAULT, new QueueLimits(400, PLACES, 16), 0);
    try (Pool pool = Pool.withTokens(folder.resolve("state"), limits)) {
      String admin = Files.readString(pool.server.adminToken().orElseThrow()).strip();
      Flood flood = new Flood(REQUESTS);
      ManagedChannel connection =
          NettyChannelBuilder.forAddress("127.0.0.1", pool.server.controlPort())
              .usePlaintext()
              .build();
      try (Context.CancellableContext held = Context.current().withCancellation()) {
        String token = token(pool, admin, "greedy");
        PoolGrpc.PoolStub greedy =
            PoolGrpc.newStub(connection).withInterceptors(Pool.bearer(token));
        held.run(() -> {
          for (int i = 0; i < REQUESTS; i++) {
            greedy.requestLease(
                LeaseRequest.newBuilder().setFraction(1).setWaitMillis(3_600_000).build(), flood);
          }
        });
        assertThat(flood.answered.await(60, TimeUnit.SECONDS)).isTrue();
        // The first of them has the GPU.
        assertThat(flood.refusals)
            .hasSize(REQUESTS - 1 - PLACES / 2)
            .allSatisfy(reason ->
                assertThat(reason)
                    .contains("100 requests in the queue already, half of the places"));
        PoolGrpc.PoolBlockingStub modest = pool.as(token(pool, admin, "modest"));
        LeaseEvent waits =
            modest
                .requestLease(
                    LeaseRequest.newBuilder().setFraction(1).setWaitMillis(3_600_000).build())
                .next();
        assertThat(waits.hasQueued()).as("%s", waits).isTrue();
      } finally {
        connection.shutdownNow();
      }
      while (pool.as(admin).listQueue(ListRequest.getDefaultInstance()).getRequestsCount() > 1) {
        assertThat(pool.server.reader().trouble().get(60, TimeUnit.SECONDS)).isEmpty();
      }
    }
  }

  private static String token(Pool pool, String admin, String tenant) {
    var ignored =
        pool.admin(admin).createTenant(CreateTenantRequest.newBuilder().setName(tenant).build());
    return pool.admin(admin)
        .createToken(CreateTokenRequest.newBuilder().setTenant(tenant).setRole(ROLE_USER).build())
        .getToken();
  }

  /** First answers of many requests. */
  private static final class Flood implements StreamObserver<LeaseEvent> {
    private final Queue<String> refusals = new ConcurrentLinkedQueue<>();
    private final CountDownLatch answered;

    Flood(int requests) {
      answered = new CountDownLatch(requests);
    }

    @Override
    public void onNext(LeaseEvent event) {
      if (event.hasRefused()) {
        refusals.add(RejectionText.of(event.getRefused().getReason()));
      }
      answered.countDown();
    }

    @Override
    public void onError(Throwable cause) {
      // The connection is closed at the end.
    }

    @Override
    public void onCompleted() {
      // A refusal was the last event.
    }
  }
}
