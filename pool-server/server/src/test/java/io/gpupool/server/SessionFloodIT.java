// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server;

import static io.gpupool.control.v1.Role.ROLE_USER;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.gpupool.control.v1.CreateTenantRequest;
import io.gpupool.control.v1.CreateTokenRequest;
import io.gpupool.control.v1.Lease;
import io.gpupool.control.v1.LeaseRequest;
import io.gpupool.control.v1.ListRequest;
import io.gpupool.control.v1.OpenSessionReply;
import io.gpupool.control.v1.OpenSessionRequest;
import io.gpupool.control.v1.PoolGrpc.PoolBlockingStub;
import io.gpupool.control.v1.SessionInfo;
import io.gpupool.server.limits.QueueLimits;
import io.gpupool.server.limits.ServerLimits;
import io.gpupool.server.limits.SessionLimits;
import io.gpupool.wire.ServerHello;
import io.grpc.StatusRuntimeException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** A tenant that opens as many sessions as it can, on a server with real worker processes. */
class SessionFloodIT {
  private static final int PER_TENANT = 12;
  private static final SessionLimits LIMITS =
      new SessionLimits(10, PER_TENANT, 64, 1000, 1, 1 << 20, 0);

  @TempDir static Path folder;
  private static Pool pool;
  private static String admin;

  @BeforeAll
  static void start() throws Exception {
    pool =
        Pool.withTokens(folder.resolve("state"), new ServerLimits(LIMITS, QueueLimits.DEFAULT, 0));
    admin = Files.readString(pool.server.adminToken().orElseThrow()).strip();
  }

  @AfterAll
  static void stop() {
    pool.close();
  }

  @Test
  void openSession_nobodyConnects_startsNoWorker() {
    PoolBlockingStub tenant = tenant("silent");
    Lease lease = lease(tenant);
    for (int i = 0; i < LIMITS.perLease(); i++) {
      OpenSessionReply ignored = open(tenant, lease);
    }
    assertThat(sessions(tenant))
        .hasSize(LIMITS.perLease())
        .allSatisfy(session -> {
          assertThat(session.getState()).isEqualTo(SessionInfo.State.STATE_OPENING);
          assertThat(session.getWorkerPid()).isZero();
        });
  }

  @Test
  void openSession_beyondALimit_isRefusedWithItsValueAndOthersAreLetIn() {
    PoolBlockingStub greedy = tenant("greedy");
    Lease first = lease(greedy);
    for (int i = 0; i < LIMITS.perLease(); i++) {
      OpenSessionReply ignored = open(greedy, first);
    }
    assertThatThrownBy(() -> open(greedy, first))
        .isInstanceOf(StatusRuntimeException.class)
        .hasMessageContaining("10 processes already (--lease-sessions)");
    Lease second = lease(greedy);
    for (int i = LIMITS.perLease(); i < PER_TENANT; i++) {
      OpenSessionReply ignored = open(greedy, second);
    }
    assertThatThrownBy(() -> open(greedy, second))
        .hasMessageContaining("tenant 'greedy' has 12 sessions")
        .hasMessageContaining("--tenant-sessions");
    PoolBlockingStub other = tenant("modest");
    assertThat(open(other, lease(other)).getSessionId().size()).isPositive();
  }

  @Test
  void connect_behindAFloodOfAnotherTenant_isServedBeforeTheRestOfTheFlood() throws Exception {
    PoolBlockingStub flooding = tenant("flood");
    Lease lease = lease(flooding);
    PoolBlockingStub other = tenant("patient");
    Lease others = lease(other);
    List<Pool.Stream> streams = new ArrayList<>();
    try {
      for (int i = 0; i < LIMITS.perLease(); i++) {
        streams.add(pool.connect(open(flooding, lease)));
      }
      try (Pool.Stream stream = pool.connect(open(other, others))) {
        assertThat(stream.answer().status()).isEqualTo(ServerHello.ACCEPTED);
        assertThat(sessions(flooding))
            .as("sessions of the flood that still wait for a worker")
            .anySatisfy(session -> assertThat(session.getWorkerPid()).isZero());
        assertThat(stream.say("echo hello")).isEqualTo("hello");
      }
      for (Pool.Stream stream : streams) {
        assertThat(stream.answer().status()).isEqualTo(ServerHello.ACCEPTED);
      }
    } finally {
      for (Pool.Stream stream : streams) {
        stream.close();
      }
    }
  }

  private static PoolBlockingStub tenant(String name) {
    var ignored =
        pool.admin(admin).createTenant(CreateTenantRequest.newBuilder().setName(name).build());
    return pool.as(
        pool.admin(admin)
            .createToken(CreateTokenRequest.newBuilder().setTenant(name).setRole(ROLE_USER).build())
            .getToken());
  }

  /** One that lasts as long as the pool. */
  private static Lease lease(PoolBlockingStub tenant) {
    return tenant
        .requestLease(LeaseRequest.newBuilder().setFraction(0.01).build())
        .next()
        .getGranted();
  }

  private static OpenSessionReply open(PoolBlockingStub tenant, Lease lease) {
    return tenant.openSession(
        OpenSessionRequest.newBuilder()
            .setLeaseId(lease.getId())
            .setSecret(lease.getSecret())
            .build());
  }

  private static List<SessionInfo> sessions(PoolBlockingStub tenant) {
    return tenant.listSessions(ListRequest.getDefaultInstance()).getSessionsList();
  }
}
