// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.session;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.gpupool.server.gpu.Gpu;
import io.gpupool.server.host.HostMemory;
import io.gpupool.server.identity.Principal;
import io.gpupool.server.identity.Role;
import io.gpupool.server.lease.lifecycle.Ground;
import io.gpupool.server.lease.lifecycle.Lease;
import io.gpupool.server.limits.SessionLimits;
import io.gpupool.server.placement.GpuRequirements;
import io.gpupool.server.placement.Placement;
import io.gpupool.server.placement.Placement.Outcome;
import io.gpupool.server.placement.PlacementTest;
import io.gpupool.server.records.LeaseSpec;
import io.gpupool.server.records.Quota;
import io.gpupool.server.rejection.InvalidRequestException;
import io.gpupool.server.stream.CallStream;
import io.gpupool.server.tenant.Tokens;
import io.gpupool.server.worker.WorkerPool;
import io.gpupool.wire.ClientHello;
import io.gpupool.wire.DriverEnvironment;
import io.gpupool.wire.ServerHello;
import io.gpupool.wire.SessionKey;
import io.netty.channel.unix.FileDescriptor;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.Test;

class SessionsTest {
  private static final long HOUR_MILLIS = 3_600_000;
  private final Gpu gpu = PlacementTest.gpu("host:7642", 0, 8L << 30);
  private final Ground ground = new Ground(List.of(gpu));
  private final WorkerPool workers = ServedSessions.workers(ground);
  private final FreeMemory memory = new FreeMemory();
  private final Sessions sessions = ServedSessions.sessions(ground, workers, memory);

  @Test
  void join_tokenHasExpiredSinceTheSessionWasOpened_isDenied() throws Exception {
    Session session = session(10_000);
    ground.timers.pass(10_000);
    assertThat(join(session)).isEqualTo(ServerHello.DENIED);
    assertThat(session.state()).isEqualTo(Session.State.ENDING);
  }

  @Test
  void join_tokenIsValid_isNotRefused() throws Exception {
    Session session = session(HOUR_MILLIS);
    assertThat(join(session)).isEqualTo(ServerHello.ACCEPTED);
    assertThat(session.state()).isEqualTo(Session.State.JOINING);
  }

  /**
   * The connect key is seen on the network: it must not be the session's, nor the other way round.
   */
  @Test
  void join_sealed_takesTheConnectKeyAlone() throws Exception {
    Session session = session(HOUR_MILLIS);
    StreamSeal seal = sessions.seal(session);
    assertThat(join(session, session.key(), true)).isEqualTo(ServerHello.BAD_SESSION);
    assertThat(sessions.find(session.id(), seal.key())).as("to resume or close it").isEmpty();
    assertThat(join(session, seal.key(), true)).isEqualTo(ServerHello.ACCEPTED);
  }

  /** Workers of other servers prove who they are to the port alone, by their certificates. */
  @Test
  void join_peerByTheSocketOfThisMachine_isRefused() throws Exception {
    Session session = session(HOUR_MILLIS);
    ClientHello hello = new ClientHello(1, 1, 1, session.id(), session.peerKey());
    assertThat(join(hello, false, true)).isEqualTo(ServerHello.BAD_SESSION);
  }

  @Test
  void join_inClearTextWhereTlsIsSpokenAndNotSealed_isRefused() throws Exception {
    Session session = session(HOUR_MILLIS);
    assertThat(join(session, session.key(), true)).isEqualTo(ServerHello.BAD_HANDSHAKE);
    assertThat(session.state()).isEqualTo(Session.State.OPENING);
  }

  @Test
  void open_noMemoryForAnotherWorker_isRefusedWithTheOption() throws Exception {
    Lease lease = lease("blue", HOUR_MILLIS);
    memory.available = SessionLimits.RESERVED_BYTES + 2 * SessionLimits.WORKER_BYTES - 1;
    Session first = sessions.open(lease, Ground.HOLDER, Principal.ANYONE, DriverEnvironment.NONE);
    assertThatThrownBy(
            () -> sessions.open(lease, Ground.HOLDER, Principal.ANYONE, DriverEnvironment.NONE))
        .isInstanceOf(InvalidRequestException.class)
        .hasMessageContaining("memory left for workers")
        .hasMessageContaining("--worker-memory");
    first.end("test");
    assertThat(sessions.open(lease, Ground.HOLDER, Principal.ANYONE, DriverEnvironment.NONE))
        .isNotNull();
  }

  @Test
  void open_tenantHasThreeQuartersOfTheMemory_theRestIsForOthers() throws Exception {
    Lease greedy = lease("blue", HOUR_MILLIS);
    Lease other = lease("green", HOUR_MILLIS);
    memory.available = SessionLimits.RESERVED_BYTES + 8 * SessionLimits.WORKER_BYTES;
    int opened = 0;
    String refusal = "";
    while (refusal.isEmpty()) {
      try {
        Session ignored =
            sessions.open(greedy, Ground.HOLDER, Principal.ANYONE, DriverEnvironment.NONE);
        opened++;
      } catch (InvalidRequestException e) {
        refusal = String.valueOf(e.getMessage());
      }
    }
    assertThat(opened).isEqualTo(6);
    assertThat(refusal).contains("tenant 'blue' has 6 sessions").contains("other tenants");
    assertThat(sessions.open(other, Ground.HOLDER, Principal.ANYONE, DriverEnvironment.NONE))
        .isNotNull();
  }

  @Test
  void open_fasterThanTheRate_isRefusedUntilTimeHasPassed() throws Exception {
    Lease lease = lease("blue", HOUR_MILLIS);
    for (int i = 0; i < 4 * SessionLimits.DEFAULT.perSecond(); i++) {
      sessions.open(lease, Ground.HOLDER, Principal.ANYONE, DriverEnvironment.NONE).end("test");
    }
    assertThatThrownBy(
            () -> sessions.open(lease, Ground.HOLDER, Principal.ANYONE, DriverEnvironment.NONE))
        .hasMessageContaining("--session-rate");
    ground.timers.pass(1000);
    assertThat(sessions.open(lease, Ground.HOLDER, Principal.ANYONE, DriverEnvironment.NONE))
        .isNotNull();
  }

  private Lease lease(String tenant, long validMillis) throws Exception {
    ground.tenants.create(Principal.ANYONE, tenant, Quota.UNLIMITED);
    ground.tokens.create(Principal.ANYONE, tenant, Role.USER, validMillis, "");
    return grant(tenant, Principal.ANYONE);
  }

  private Session session(long validMillis) throws Exception {
    ground.tenants.create(Principal.ANYONE, "blue", Quota.UNLIMITED);
    Tokens.Made token = ground.tokens.create(Principal.ANYONE, "blue", Role.USER, validMillis, "");
    Principal principal = ground.tokens.authenticate(token.text()).orElseThrow();
    return sessions.open(
        grant("blue", principal), Ground.HOLDER, principal, DriverEnvironment.NONE);
  }

  private Lease grant(String tenant, Principal principal) throws Exception {
    GpuRequirements requirements =
        new GpuRequirements(1, new GpuRequirements.Size.Fraction(0.25), null, List.of());
    Outcome.Placed placed =
        (Outcome.Placed) Placement.place(requirements, tenant, ground.capacity.snapshot());
    return ground
        .grant(new LeaseSpec(requirements, 0, 0, Ground.HOLDER, principal, tenant), placed.parts())
        .lease();
  }

  /** Memory of which processes use none that is seen. */
  private static final class FreeMemory implements HostMemory {
    private long available = 1L << 40;

    @Override
    public long availableBytes() {
      return available;
    }

    @Override
    public long residentBytes(long pid) {
      return 0;
    }
  }

  private int join(Session session) {
    return join(session, session.key(), false);
  }

  private int join(Session session, SessionKey key, boolean needsSeal) {
    return join(new ClientHello(1, 1, session.id(), key), needsSeal, false);
  }

  private int join(ClientHello hello, boolean needsSeal, boolean isLocal) {
    int[] status = new int[1];
    sessions.join(
        hello,
        new CallStream() {
          @Override
          public boolean isLocal() {
            return isLocal;
          }

          @Override
          public boolean needsSeal() {
            return needsSeal;
          }

          @Override
          public void refuse(ServerHello answer) {
            status[0] = answer.status();
          }

          @Override
          public CompletableFuture<FileDescriptor> accept(ServerHello answer, boolean resumable) {
            return new CompletableFuture<>();
          }
        });
    return status[0];
  }
}
