// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server;

import static io.gpupool.control.v1.LeaseClass.LEASE_CLASS_LATENCY;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import io.gpupool.control.v1.Cause;
import io.gpupool.control.v1.CloseSessionRequest;
import io.gpupool.control.v1.HoldRequest;
import io.gpupool.control.v1.LeaseEvent;
import io.gpupool.control.v1.LeaseInfo;
import io.gpupool.control.v1.LeaseRequest;
import io.gpupool.control.v1.ListRequest;
import io.gpupool.control.v1.OpenSessionReply;
import io.gpupool.control.v1.OpenSessionRequest;
import io.gpupool.control.v1.PoolGrpc;
import io.gpupool.control.v1.ReleaseLeaseRequest;
import io.gpupool.control.v1.SessionInfo;
import io.gpupool.control.v1.UpdateLeaseRequest;
import io.gpupool.control.v1.VersionRequest;
import io.gpupool.server.lease.model.GraceReason;
import io.gpupool.wire.ServerHello;
import io.grpc.Context;
import io.grpc.Status;
import io.grpc.StatusRuntimeException;
import io.grpc.stub.StreamObserver;
import java.time.Duration;
import java.util.Iterator;
import java.util.List;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

/** The server with real worker processes, sockets and gRPC; no test leaves a lease behind. */
class PoolServerIT {
  private static final Duration FREE_LIMIT = Duration.ofSeconds(10);
  private static Pool pool;

  @BeforeAll
  static void start() throws Exception {
    pool = new Pool("soft:1", 1);
  }

  @AfterAll
  static void stop_everythingIsDead() {
    pool.close();
    await()
        .atMost(FREE_LIMIT)
        .untilAsserted(() -> assertThat(workerPids()).describedAs("workers").isEmpty());
  }

  @Test
  void callStream_handedToTheWorker_carriesBytesBothWays() throws Exception {
    Pool.Held held = pool.lease(0.5);
    try (Pool.Stream stream = pool.connect(pool.session(held.lease()))) {
      assertThat(stream.answer()).isEqualTo(ServerHello.accepted(1));
      assertThat(stream.say("echo hello")).isEqualTo("hello");
      assertThat(stream.say("gpus")).isEqualTo("0:4294967296:50");
      String big = "x".repeat(1 << 20);
      assertThat(stream.say("echo " + big)).isEqualTo(big);
    }
    release(held);
  }

  @Test
  void session_programLeaves_workerIsGoneAndTheLeaseStays() throws Exception {
    Pool.Held held = pool.lease(0.5);
    Pool.Stream stream = pool.connect(pool.session(held.lease()));
    assertThat(stream.answer().isAccepted()).isTrue();
    assertThat(stream.say("use 1000")).isEqualTo("ok");
    assertThat(stream.say("stats")).isEqualTo("ok");
    await()
        .untilAsserted(() -> {
          assertThat(only().getCalls()).isEqualTo(7);
          assertThat(only().getUsedMemoryBytes(0)).isEqualTo(1000);
          assertThat(only().getState()).isEqualTo(SessionInfo.State.STATE_ATTACHED);
          assertThat(only().getLastError()).isEqualTo("e");
        });
    assertThat(usedBytes()).isEqualTo(1000);
    stream.close();
    await().atMost(FREE_LIMIT).until(() -> sessions().isEmpty());
    assertThat(usedBytes()).isZero();
    assertThat(pool.stub.listLeases(list()).getLeasesCount()).isEqualTo(1);
    release(held);
  }

  @Test
  void worker_crashes_itsStreamEndsAndTheOtherSessionGoesOn() throws Exception {
    Pool.Held first = pool.lease(0.5);
    Pool.Held second = pool.lease(0.5);
    try (Pool.Stream dying = pool.connect(pool.session(first.lease()));
        Pool.Stream other = pool.connect(pool.session(second.lease()))) {
      assertThat(dying.answer().isAccepted()).isTrue();
      assertThat(other.answer().isAccepted()).isTrue();
      assertThat(dying.say("crash")).isNull();
      assertThat(other.say("echo alive")).isEqualTo("alive");
      await().atMost(FREE_LIMIT).until(() -> sessions().size() == 1);
    }
    release(first);
    release(second);
  }

  @Test
  void lease_connectionToItsHolderBreaks_itsProgramsGoOn() throws Exception {
    Pool.Held held =
        pool.lease(LeaseRequest.newBuilder().setFraction(1).setResumeWindowMillis(60_000));
    try (Pool.Stream stream = pool.connect(pool.session(held.lease()))) {
      assertThat(stream.answer().isAccepted()).isTrue();
      held.stream().cancel(null);
      await()
          .atMost(FREE_LIMIT)
          .until(() -> info(held.lease().getId()).getState() == LeaseInfo.State.STATE_GRACE);
      Thread.sleep(2 * GraceReason.SHORT_MILLIS);
      assertThat(stream.say("echo still")).isEqualTo("still");
    }
    release(held);
  }

  @Test
  void lease_holderVanishesAndNoResumeWindow_workersAreKilledAndTheFractionIsFree()
      throws Exception {
    Pool.Held held = pool.lease(LeaseRequest.newBuilder().setFraction(1).setResumeWindowMillis(0));
    try (Pool.Stream stream = pool.connect(pool.session(held.lease()))) {
      assertThat(stream.answer().isAccepted()).isTrue();
      assertThat(stream.say("stubborn")).isEqualTo("ok");
      held.stream().cancel(null);
      await().atMost(FREE_LIMIT).until(PoolServerIT::isAllFree);
      assertThat(stream.socket.getInputStream().read()).isEqualTo(-1);
    }
    assertThat(sessions()).isEmpty();
  }

  @Test
  void holdLease_takesOver_whenTheRequestingStreamEnds() throws Exception {
    Pool.Held held = pool.lease(1);
    BlockingQueue<LeaseEvent> events = new LinkedBlockingQueue<>();
    StreamObserver<HoldRequest> hold =
        PoolGrpc.newStub(pool.stub.getChannel())
            .holdLease(
                new StreamObserver<>() {
                  @Override
                  public void onNext(LeaseEvent event) {
                    events.add(event);
                  }

                  @Override
                  public void onError(Throwable failure) {}

                  @Override
                  public void onCompleted() {}
                });
    hold.onNext(
        HoldRequest.newBuilder()
            .setLeaseId(held.lease().getId())
            .setSecret(held.lease().getSecret())
            .build());
    assertThat(events.poll(10, TimeUnit.SECONDS).hasHeld()).isTrue();
    held.stream().cancel(null);
    Thread.sleep(2 * GraceReason.SHORT_MILLIS);
    assertThat(pool.stub.listLeases(list()).getLeases(0).getState())
        .isEqualTo(LeaseInfo.State.STATE_HELD);
    hold.onCompleted();
    await().atMost(FREE_LIMIT).until(PoolServerIT::isAllFree);
  }

  @Test
  void requestLease_noRoom_isRefusedWithTheReason() throws Exception {
    Pool.Held first = pool.lease(0.5);
    Pool.Held second = pool.lease(0.5);
    LeaseEvent third = pool.request(LeaseRequest.newBuilder().setFraction(0.5).build()).next();
    assertThat(third.getRefused().getCause()).isEqualTo(Cause.CAUSE_NO_CAPACITY);
    assertThat(third.getRefused().getWanted()).isEqualTo("1 GPU at 0.5");
    assertThat(third.getRefused().getReason().getNoCapacity().getHolders(0).getLeaseId())
        .startsWith("L");
    release(first);
    await().atMost(FREE_LIMIT).until(() -> freeBytes() > 0);
    release(pool.lease(0.5));
    release(second);
  }

  @Test
  void handshake_wrongKeyOrSecondTime_isRefused() throws Exception {
    Pool.Held held = pool.lease(0.5);
    OpenSessionReply session = pool.session(held.lease());
    OpenSessionReply wrong =
        session.toBuilder()
            .setSessionKey(com.google.protobuf.ByteString.copyFrom(new byte[32]))
            .build();
    try (Pool.Stream stream = pool.connect(wrong)) {
      assertThat(stream.answer().status()).isEqualTo(ServerHello.BAD_SESSION);
    }
    try (Pool.Stream stream = pool.connect(session);
        Pool.Stream replay = pool.connect(session)) {
      assertThat(stream.answer().isAccepted()).isTrue();
      assertThat(replay.answer().status()).isEqualTo(ServerHello.BAD_SESSION);
      assertThat(replay.socket.getInputStream().read()).isEqualTo(-1);
      assertThat(stream.say("echo still")).isEqualTo("still");
    }
    release(held);
  }

  @Test
  void handshake_versionsThatDoNotMeet_namesBoth() throws Exception {
    Pool.Held held = pool.lease(0.5);
    byte[] hello = Pool.hello(pool.session(held.lease())).encode();
    hello[8] = 7;
    hello[10] = 9;
    try (Pool.Stream stream = new Pool.Stream(pool.server.dataPort())) {
      stream.socket.getOutputStream().write(hello);
      ServerHello answer = stream.answer();
      assertThat(answer.status()).isEqualTo(ServerHello.BAD_VERSION);
      assertThat(answer.text()).contains("1 to 1").contains("7 to 9");
    }
    release(held);
  }

  @Test
  void closeSession_byItsKey_endsIt() throws Exception {
    Pool.Held held = pool.lease(0.5);
    OpenSessionReply session = pool.session(held.lease());
    try (Pool.Stream stream = pool.connect(session)) {
      assertThat(stream.answer().isAccepted()).isTrue();
      pool.stub.closeSession(
          CloseSessionRequest.newBuilder()
              .setSessionId(session.getSessionId())
              .setSessionKey(session.getSessionKey())
              .build());
      assertThat(stream.socket.getInputStream().read()).isEqualTo(-1);
    }
    await().atMost(FREE_LIMIT).until(() -> sessions().isEmpty());
    release(held);
  }

  @Test
  void openSession_unknownLeaseOrWrongSecret_isDenied() {
    Pool.Held held = pool.lease(0.5);
    assertDenied("L999", held.lease().getSecret());
    assertDenied(held.lease().getId(), "guess");
    release(held);
  }

  @Test
  void version_anyCaller_isTold() {
    assertThat(pool.stub.version(VersionRequest.getDefaultInstance()).getServer())
        .isEqualTo("test");
    assertThat(pool.stub.version(VersionRequest.getDefaultInstance()).getVersion()).isNotBlank();
  }

  @Test
  void start_noDriver_servesTheSoftwareGpu() throws Exception {
    try (Pool fallback = new Pool("all", 0)) {
      assertThat(fallback.server.describeGpus()).hasSize(1);
      assertThat(fallback.stub.listServers(list()).getServers(0).getBackend()).isEqualTo("soft");
    }
  }

  private static void assertDenied(String id, String secret) {
    assertThatThrownBy(() ->
            pool.stub.openSession(
                OpenSessionRequest.newBuilder().setLeaseId(id).setSecret(secret).build()))
        .isInstanceOfSatisfying(
            StatusRuntimeException.class,
            e -> assertThat(e.getStatus().getCode()).isEqualTo(Status.Code.PERMISSION_DENIED));
  }

  @Test
  void updateLease_whileItsProgramRuns_isSeenAtOnceAndTheProgramGoesOn() throws Exception {
    Pool.Held held = pool.lease(0.5);
    UpdateLeaseRequest.Builder request =
        UpdateLeaseRequest.newBuilder().setLeaseId(held.lease().getId());
    try (Pool.Stream stream = pool.connect(pool.session(held.lease()))) {
      assertThat(stream.answer().isAccepted()).isTrue();
      LeaseInfo changed =
          pool.stub.updateLease(
              request.setComputePercent(80).setHard(true).setClass_(LEASE_CLASS_LATENCY).build());
      LeaseInfo listed = pool.stub.listLeases(list()).getLeases(0);
      for (LeaseInfo lease : List.of(changed, listed)) {
        assertThat(lease.getId()).isEqualTo(held.lease().getId());
        assertThat(lease.getState()).isEqualTo(LeaseInfo.State.STATE_HELD);
        assertThat(lease.getClass_()).isEqualTo(LEASE_CLASS_LATENCY);
        assertThat(lease.getGrants(0).getGrant().getComputePercent()).isEqualTo(80);
        assertThat(lease.getGrants(0).getGrant().getHard()).isTrue();
      }
      assertThat(pool.stub.listGpus(list()).getGpus(0).getFreeComputePercent()).isEqualTo(20);
      assertThat(stream.say("echo alive")).isEqualTo("alive");
    }
    release(held);
    assertThatThrownBy(() -> pool.stub.updateLease(request.build()))
        .hasMessageContaining("NOT_FOUND")
        .hasMessageContaining("it may have ended");
  }

  @Test
  void updateLease_thatCannotBe_saysWhyAndChangesNothing() throws Exception {
    Pool.Held held = pool.lease(0.5);
    Pool.Held other = pool.lease(0.25);
    String id = held.lease().getId();
    LeaseInfo before = info(id);
    UpdateLeaseRequest nothing = UpdateLeaseRequest.newBuilder().setLeaseId(id).build();
    assertRefused(nothing, Status.Code.INVALID_ARGUMENT, "give compute_percent (1 to 100)");
    assertRefused(
        nothing.toBuilder().setComputePercent(Double.NaN).setHard(true).build(),
        Status.Code.INVALID_ARGUMENT,
        "compute_percent is NaN; give 1 to 100");
    assertRefused(
        nothing.toBuilder().setClass_Value(3).setComputePercent(10).build(),
        Status.Code.INVALID_ARGUMENT,
        "class is 3; give batch or latency");
    assertRefused(
        nothing.toBuilder().setComputePercent(90).setHard(true).build(),
        Status.Code.FAILED_PRECONDITION,
        "25 % is free beside the 50 % that it has; give 75 % at most");
    assertThat(info(id).getGrants(0).getGrant()).isEqualTo(before.getGrants(0).getGrant());
    assertThat(info(id).getClass_()).isEqualTo(before.getClass_());
    release(held);
    release(other);
  }

  @Test
  void updateLease_ofARequestThatWaits_saysSo() throws Exception {
    Pool.Held held = pool.lease(1);
    Context.CancellableContext stream = Context.current().withCancellation();
    Context before = stream.attach();
    Iterator<LeaseEvent> events =
        pool.stub.requestLease(
            LeaseRequest.newBuilder().setFraction(0.5).setWaitMillis(60_000).build());
    stream.detach(before);
    assertThat(events.next().hasQueued()).isTrue();
    String id = pool.stub.listQueue(list()).getRequests(0).getId();
    assertRefused(
        UpdateLeaseRequest.newBuilder().setLeaseId(id).setHard(true).build(),
        Status.Code.FAILED_PRECONDITION,
        "request " + id + " waits and has no lease yet");
    stream.cancel(null);
    await().atMost(FREE_LIMIT).until(() -> pool.stub.listQueue(list()).getRequestsCount() == 0);
    release(held);
  }

  private static LeaseInfo info(String id) {
    return pool.stub.listLeases(list()).getLeasesList().stream()
        .filter(lease -> lease.getId().equals(id))
        .findFirst()
        .orElseThrow();
  }

  private static void assertRefused(UpdateLeaseRequest request, Status.Code code, String why) {
    assertThatThrownBy(() -> pool.stub.updateLease(request))
        .isInstanceOf(StatusRuntimeException.class)
        .hasMessageContaining(why)
        .extracting(e -> ((StatusRuntimeException) e).getStatus().getCode())
        .isEqualTo(code);
  }

  private static void release(Pool.Held held) {
    pool.stub.releaseLease(
        ReleaseLeaseRequest.newBuilder()
            .setLeaseId(held.lease().getId())
            .setSecret(held.lease().getSecret())
            .build());
    await().atMost(FREE_LIMIT).until(() -> leaseIsGone(held));
  }

  private static boolean leaseIsGone(Pool.Held held) {
    return pool.stub.listLeases(list()).getLeasesList().stream()
        .noneMatch(lease -> lease.getId().equals(held.lease().getId()));
  }

  private static boolean isAllFree() {
    var gpu = pool.stub.listGpus(list()).getGpus(0);
    return gpu.getFreeMemoryBytes() == gpu.getMemoryBytes() && gpu.getFreeComputePercent() == 100;
  }

  private static long freeBytes() {
    return pool.stub.listGpus(list()).getGpus(0).getFreeMemoryBytes();
  }

  private static long usedBytes() {
    return pool.stub.listLeases(list()).getLeases(0).getGrants(0).getUsedMemoryBytes();
  }

  private static SessionInfo only() {
    assertThat(sessions()).hasSize(1);
    return sessions().getFirst();
  }

  private static List<SessionInfo> sessions() {
    return pool.stub.listSessions(list()).getSessionsList();
  }

  private static List<Long> workerPids() {
    try (Stream<ProcessHandle> children = ProcessHandle.current().children()) {
      return children.filter(ProcessHandle::isAlive).map(ProcessHandle::pid).toList();
    }
  }

  private static ListRequest list() {
    return ListRequest.getDefaultInstance();
  }
}
