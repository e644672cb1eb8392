// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server;

import static io.gpupool.control.v1.Role.ROLE_ADMIN;
import static io.gpupool.control.v1.Role.ROLE_READ_ONLY;
import static io.gpupool.control.v1.Role.ROLE_USER;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.google.protobuf.ByteString;
import io.gpupool.control.v1.CreateTenantRequest;
import io.gpupool.control.v1.CreateTokenReply;
import io.gpupool.control.v1.CreateTokenRequest;
import io.gpupool.control.v1.DescribeLeaseRequest;
import io.gpupool.control.v1.Holder;
import io.gpupool.control.v1.LeaseClass;
import io.gpupool.control.v1.LeaseEvent;
import io.gpupool.control.v1.LeaseInfo;
import io.gpupool.control.v1.LeaseRequest;
import io.gpupool.control.v1.ListAuditRequest;
import io.gpupool.control.v1.ListRequest;
import io.gpupool.control.v1.OpenSessionReply;
import io.gpupool.control.v1.OpenSessionRequest;
import io.gpupool.control.v1.PoolAdminGrpc;
import io.gpupool.control.v1.PoolGrpc;
import io.gpupool.control.v1.ReleaseLeaseRequest;
import io.gpupool.control.v1.RevokeTokenRequest;
import io.gpupool.control.v1.SessionInfo;
import io.gpupool.control.v1.UpdateLeaseRequest;
import io.gpupool.wire.ServerHello;
import io.gpupool.wire.SessionId;
import io.grpc.CallOptions;
import io.grpc.ClientCall;
import io.grpc.Context;
import io.grpc.Metadata;
import io.grpc.MethodDescriptor;
import io.grpc.ServerServiceDefinition;
import io.grpc.Status;
import io.grpc.StatusRuntimeException;
import java.io.ByteArrayInputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** A server with tenants and tokens: who may do what, over real gRPC. */
class AuthInterceptorIT {
  private static final Metadata.Key<String> AUTHORIZATION =
      Metadata.Key.of("authorization", Metadata.ASCII_STRING_MARSHALLER);

  /** How long a token is valid that is to expire between a session and its call stream. */
  private static final long PASSING_MILLIS = 5000;

  /** The one method that needs no token. */
  private static final String OPEN = PoolGrpc.getVersionMethod().getFullMethodName();

  @TempDir static Path folder;
  private static Pool pool;
  private static String admin;

  @BeforeAll
  static void start() throws Exception {
    pool = Pool.withTokens(folder.resolve("state"));
    admin = Files.readString(pool.server.adminToken().orElseThrow()).strip();
    for (String tenant : List.of("blue", "red", "green", "white")) {
      admin().createTenant(CreateTenantRequest.newBuilder().setName(tenant).build());
    }
  }

  @AfterAll
  static void stop() {
    pool.close();
  }

  /**
   * A lease whose request was cancelled stays for its resume window, and would keep the next test
   * waiting.
   */
  @AfterEach
  void releaseLeases() {
    PoolGrpc.PoolBlockingStub all = pool.as(admin);
    for (LeaseInfo lease : all.listLeases(ListRequest.getDefaultInstance()).getLeasesList()) {
      try {
        all.releaseLease(ReleaseLeaseRequest.newBuilder().setLeaseId(lease.getId()).build());
      } catch (StatusRuntimeException e) {
        assertThat(e.getStatus().getCode())
            .as("it has ended by itself")
            .isEqualTo(Status.Code.NOT_FOUND);
      }
    }
  }

  @Test
  void everyMethod_withoutAValidToken_isClosed() throws Exception {
    CreateTokenReply revoked = token("blue", ROLE_ADMIN, 0);
    admin().revokeToken(RevokeTokenRequest.newBuilder().setId(revoked.getInfo().getId()).build());
    CreateTokenReply expired = token("blue", ROLE_ADMIN, 1);
    Thread.sleep(5);
    List<Optional<String>> shown =
        List.of(
            Optional.empty(),
            Optional.of("Bearer "),
            Optional.of("Bearer gpupool_guess"),
            Optional.of("Basic " + admin),
            Optional.of(admin),
            Optional.of("Bearer " + revoked.getToken()),
            Optional.of("Bearer " + expired.getToken()),
            Optional.of("Bearer " + admin + "x"));
    for (Optional<String> header : shown) {
      Map<String, Status.Code> answers = new TreeMap<>();
      for (MethodDescriptor<?, ?> method : methods()) {
        answers.put(method.getFullMethodName(), call(method, header.orElse(null)).getCode());
      }
      assertThat(answers.remove(OPEN)).isEqualTo(Status.Code.OK);
      assertThat(answers.values())
          .as("%s with %s", answers, header)
          .containsOnly(Status.Code.UNAUTHENTICATED);
    }
  }

  @Test
  void everyMethod_withARole_isOpenAsFarAsTheRoleGoes() throws Exception {
    String reader = "Bearer " + token("blue", ROLE_READ_ONLY, 0).getToken();
    String user = "Bearer " + token("blue", ROLE_USER, 0).getToken();
    List<String> readable = new ArrayList<>();
    List<String> usable = new ArrayList<>();
    for (MethodDescriptor<?, ?> method : methods()) {
      String name = method.getBareMethodName();
      Status read = call(method, reader);
      Status use = call(method, user);
      if (read.getCode() != Status.Code.PERMISSION_DENIED) {
        readable.add(name);
      }
      if (use.getCode() != Status.Code.PERMISSION_DENIED) {
        usable.add(name);
      } else if (!String.valueOf(use.getDescription()).startsWith("there is no lease")) {
        assertThat(use.getDescription()).as(name).contains("user").contains("admin");
      }
      assertThat(call(method, "Bearer " + admin).getCode())
          .as(name)
          .isNotEqualTo(Status.Code.UNAUTHENTICATED);
    }
    assertThat(readable)
        .containsExactlyInAnyOrder(
            "Version",
            "ListServers",
            "ListGpus",
            "ListLeases",
            "ListQueue",
            "ListSessions",
            "ListPartitions",
            "ListTenants",
            "IsActive",
            "StreamIsActive",
            "GetMetricSpec",
            "GetMetrics");
    assertThat(usable)
        .as("what takes a lease needs its secret, too")
        .containsAll(readable)
        .contains(
            "RequestLease",
            "CloseSession",
            "ReleaseLease",
            "UpdateLease",
            "MoveLease",
            "SuspendLease",
            "ResumeLease",
            "EndSession")
        .contains("ResumeSession")
        .hasSize(readable.size() + 9);
  }

  /** Requests name all that the tenant blue has, by the names of their fields. */
  @Test
  void everyMethod_withATokenOfAnotherTenant_tellsAndTakesNothing() throws Exception {
    PoolGrpc.PoolBlockingStub blue = pool.as(token("blue", ROLE_USER, 0).getToken());
    Context.CancellableContext stream = Context.current().withCancellation();
    Context before = stream.attach();
    Holder holder = Holder.newBuilder().setProgram("blue-program").setPid(7).build();
    Iterator<LeaseEvent> events =
        blue.requestLease(quarter().toBuilder().setHolder(holder).setResumeWindowMillis(0).build());
    io.gpupool.control.v1.Lease lease = granted(events);
    stream.detach(before);
    OpenSessionReply session = open(blue, lease, holder);
    String sessionId = SessionId.ofBytes(session.getSessionId().toByteArray()).toString();
    RequestOf request =
        new RequestOf(
            Map.of(
                "lease_id",
                lease.getId(),
                "secret",
                lease.getSecret(),
                "id",
                sessionId,
                "session_id",
                session.getSessionId(),
                "session_key",
                ByteString.copyFrom(new byte[32]),
                "tenant",
                "blue",
                "class",
                LeaseClass.LEASE_CLASS_BATCH.getValueDescriptor(),
                "name",
                "blue"));
    for (io.gpupool.control.v1.Role role : List.of(ROLE_USER, ROLE_READ_ONLY)) {
      String red = "Bearer " + token("red", role, 0).getToken();
      Map<String, Ended> answers = new TreeMap<>();
      for (MethodDescriptor<?, ?> method : methods()) {
        answers.put(method.getFullMethodName(), call(method, red, request.to(method)));
      }
      assertThat(answers)
          .allSatisfy((method, answer) -> {
            assertThat(answer.status().getCode())
                .as("%s", answer)
                .isIn(Status.Code.OK, Status.Code.PERMISSION_DENIED, Status.Code.NOT_FOUND);
            assertThat(answer.message())
                .doesNotContain("\"blue\"", "blue-program", lease.getSecret(), sessionId);
          });
      assertThat(answers.values())
          .filteredOn(answer -> !answer.status().isOk())
          .as("what is open only names nothing of another's")
          .hasSizeGreaterThan(15);
    }
    assertThat(blue.listSessions(ListRequest.getDefaultInstance()).getSessionsList())
        .extracting(SessionInfo::getId)
        .contains(sessionId);
    assertThat(blue.listLeases(ListRequest.getDefaultInstance()).getLeasesList())
        .anyMatch(seen ->
            seen.getId().equals(lease.getId()) && seen.getState() == LeaseInfo.State.STATE_HELD);
    stream.cancel(null);
  }

  @Test
  void callStream_withoutTheRight_isRefused() throws Exception {
    CreateTokenReply passing = token("green", ROLE_USER, PASSING_MILLIS);
    CreateTokenReply revoked = token("green", ROLE_USER, 0);
    OpenSessionReply expired = open(passing);
    long expiresMillis = System.currentTimeMillis() + PASSING_MILLIS;
    OpenSessionReply lost = open(revoked);
    OpenSessionReply right = open(token("green", ROLE_USER, 0));
    OpenSessionReply other = open(token("white", ROLE_USER, 0));
    admin().revokeToken(RevokeTokenRequest.newBuilder().setId(revoked.getInfo().getId()).build());
    assertThat(join(lost))
        .as("revoked, and its session about to end")
        .isIn(ServerHello.DENIED, ServerHello.BAD_SESSION);
    OpenSessionReply mixed = right.toBuilder().setSessionKey(other.getSessionKey()).build();
    assertThat(join(mixed)).as("another tenant's").isEqualTo(ServerHello.BAD_SESSION);
    OpenSessionReply bare =
        right.toBuilder().setSessionKey(ByteString.copyFrom(new byte[32])).build();
    assertThat(join(bare)).as("none").isEqualTo(ServerHello.BAD_SESSION);
    Thread.sleep(Math.max(1, expiresMillis - System.currentTimeMillis()));
    assertThat(join(expired)).as("expired").isEqualTo(ServerHello.DENIED);
    assertThat(join(right)).as("the right one").isEqualTo(ServerHello.ACCEPTED);
  }

  @Test
  void lease_ofAnotherTenant_canBeNeitherSeenNorUsed() throws Exception {
    PoolGrpc.PoolBlockingStub blue = pool.as(token("blue", ROLE_USER, 0).getToken());
    PoolGrpc.PoolBlockingStub red = pool.as(token("red", ROLE_USER, 0).getToken());
    Context.CancellableContext stream = Context.current().withCancellation();
    Context before = stream.attach();
    Iterator<LeaseEvent> events = blue.requestLease(quarter());
    io.gpupool.control.v1.Lease lease = granted(events);
    stream.detach(before);

    assertThat(blue.listLeases(ListRequest.getDefaultInstance()).getLeases(0).getTenant())
        .isEqualTo("blue");
    assertThat(red.listLeases(ListRequest.getDefaultInstance()).getLeasesList()).isEmpty();
    OpenSessionRequest open =
        OpenSessionRequest.newBuilder()
            .setLeaseId(lease.getId())
            .setSecret(lease.getSecret())
            .build();
    assertDenied(() -> red.openSession(open));
    DescribeLeaseRequest describe =
        DescribeLeaseRequest.newBuilder()
            .setLeaseId(lease.getId())
            .setSecret(lease.getSecret())
            .build();
    assertDenied(() -> red.describeLease(describe));
    assertDenied(() -> blue.describeLease(describe.toBuilder().setSecret("guessed").build()));
    assertThat(blue.describeLease(describe).getGpus(0).getUuid())
        .isEqualTo(lease.getGrants(0).getGpuUuid());
    ReleaseLeaseRequest bySecret =
        ReleaseLeaseRequest.newBuilder()
            .setLeaseId(lease.getId())
            .setSecret(lease.getSecret())
            .build();
    assertDenied(() -> red.releaseLease(bySecret));
    assertThatThrownBy(() -> red.releaseLease(bySecret.toBuilder().clearSecret().build()))
        .hasMessageContaining("NOT_FOUND");
    assertDenied(
        () -> red.requestLease(LeaseRequest.newBuilder().setTenant("blue").build()).next());
    UpdateLeaseRequest update =
        UpdateLeaseRequest.newBuilder().setLeaseId(lease.getId()).setComputePercent(10).build();
    assertThatThrownBy(() -> red.updateLease(update))
        .hasMessageContaining("NOT_FOUND")
        .hasMessageContaining("of yours");
    assertThat(blue.updateLease(update).getGrants(0).getGrant().getComputePercent()).isEqualTo(10);
    blue.releaseLease(bySecret.toBuilder().clearSecret().build());
    assertThat(events.next().getEnded().getReason()).contains("released by blue/");
  }

  @Test
  void token_revoked_leasesAskedForWithItEnd() throws Exception {
    CreateTokenReply token = token("red", ROLE_USER, 0);
    Iterator<LeaseEvent> events = pool.as(token.getToken()).requestLease(quarter());
    assertThat(granted(events).getId()).isNotEmpty();
    admin().revokeToken(RevokeTokenRequest.newBuilder().setId(token.getInfo().getId()).build());
    assertThat(events.next().getEnded().getReason()).contains("revoked");
    assertThat(admin().listAudit(ListAuditRequest.getDefaultInstance()).getLinesList())
        .anyMatch(line ->
            line.getAction().equals("token.revoke") && line.getActor().startsWith("admin/"));
  }

  /** A session on a lease of its own, which lives as long as the test's channel. */
  private static OpenSessionReply open(CreateTokenReply token) {
    PoolGrpc.PoolBlockingStub stub = pool.as(token.getToken());
    Iterator<LeaseEvent> events = stub.requestLease(eighth());
    return open(stub, granted(events), Holder.getDefaultInstance());
  }

  private static OpenSessionReply open(
      PoolGrpc.PoolBlockingStub stub, io.gpupool.control.v1.Lease lease, Holder client) {
    return stub.openSession(
        OpenSessionRequest.newBuilder()
            .setLeaseId(lease.getId())
            .setSecret(lease.getSecret())
            .setClient(client)
            .build());
  }

  private static int join(OpenSessionReply session) throws Exception {
    try (Pool.Stream stream = pool.connect(session)) {
      return stream.answer().status();
    }
  }

  private static LeaseRequest eighth() {
    return quarter().toBuilder().setFraction(0.125).build();
  }

  private static LeaseRequest quarter() {
    return LeaseRequest.newBuilder().setFraction(0.25).setWaitMillis(60_000).build();
  }

  /** What another test has just let go may still be on its way back. */
  private static io.gpupool.control.v1.Lease granted(Iterator<LeaseEvent> events) {
    LeaseEvent event = events.next();
    while (event.hasQueued()) {
      event = events.next();
    }
    return event.getGranted();
  }

  private static CreateTokenReply token(
      String tenant, io.gpupool.control.v1.Role role, long validMillis) {
    return admin()
        .createToken(
            CreateTokenRequest.newBuilder()
                .setTenant(tenant)
                .setRole(role)
                .setValidMillis(validMillis)
                .build());
  }

  private static PoolAdminGrpc.PoolAdminBlockingStub admin() {
    return pool.admin(admin);
  }

  /** Every method of every service that the server has. */
  private static List<MethodDescriptor<?, ?>> methods() {
    List<MethodDescriptor<?, ?>> methods = new ArrayList<>();
    for (ServerServiceDefinition service : pool.server.services()) {
      methods.addAll(service.getServiceDescriptor().getMethods());
    }
    assertThat(methods).hasSizeGreaterThan(20);
    return methods;
  }

  /** How a call with an empty message ends; OK, too, when it has been let in and goes on. */
  private static <Q, A> Status call(MethodDescriptor<Q, A> method, @Nullable String header)
      throws Exception {
    return call(method, header, new byte[0]).status();
  }

  /** How a call ends, or what it answers first. */
  record Ended(Status status, String message) {}

  private static <Q, A> Ended call(
      MethodDescriptor<Q, A> method, @Nullable String header, byte[] request) throws Exception {
    ClientCall<Q, A> call =
        pool.channel().newCall(method, CallOptions.DEFAULT.withDeadlineAfter(30, TimeUnit.SECONDS));
    CompletableFuture<Ended> ended = new CompletableFuture<>();
    Metadata headers = new Metadata();
    Optional.ofNullable(header).ifPresent(value -> headers.put(AUTHORIZATION, value));
    call.start(
        new ClientCall.Listener<>() {
          @Override
          public void onMessage(A message) {
            ended.complete(new Ended(Status.OK, message.toString()));
          }

          @Override
          public void onClose(Status status, Metadata trailers) {
            ended.complete(new Ended(status, ""));
          }
        },
        headers);
    call.request(1);
    call.sendMessage(method.parseRequest(new ByteArrayInputStream(request)));
    call.halfClose();
    try {
      return ended.get(30, TimeUnit.SECONDS);
    } finally {
      call.cancel("the test has seen enough", null);
    }
  }

  private static void assertDenied(Runnable call) {
    try {
      call.run();
    } catch (StatusRuntimeException e) {
      assertThat(e.getStatus().getCode()).isEqualTo(Status.Code.PERMISSION_DENIED);
      return;
    }
    throw new AssertionError("it was let in");
  }
}
