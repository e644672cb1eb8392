// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.session;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.gpupool.server.control.ManualTimers;
import io.gpupool.server.gpu.Gpu;
import io.gpupool.server.identity.Principal;
import io.gpupool.server.lease.lifecycle.Ground;
import io.gpupool.server.lease.lifecycle.Lease;
import io.gpupool.server.limits.LeaseLimits;
import io.gpupool.server.placement.GpuRequirements;
import io.gpupool.server.placement.Placement;
import io.gpupool.server.placement.Placement.Outcome;
import io.gpupool.server.placement.PlacementTest;
import io.gpupool.server.records.LeaseSpec;
import io.gpupool.server.state.LocalStore;
import io.gpupool.server.worker.LinkedWorker;
import io.gpupool.wire.ClientHello;
import io.gpupool.wire.DriverEnvironment;
import io.gpupool.wire.ServerHello;
import io.gpupool.wire.SessionKey;
import io.gpupool.wire.TextMessage;
import java.security.SecureRandom;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HexFormat;
import java.util.List;
import org.junit.jupiter.api.Test;

/** Connections between the workers of a program with GPUs of two servers. */
class PeerConnectorTest {
  private static final LeaseLimits RESUMABLE = new LeaseLimits(0, 0, 0, 60_000);

  private final ManualTimers timers = new ManualTimers();
  private final LocalStore store = LocalStore.inMemory();
  private final Ground first = ground("a.invalid");
  private final Ground second = ground("b.invalid");
  private final ServedSessions atFirst = new ServedSessions(first);
  private final ServedSessions atSecond = new ServedSessions(second);

  private Ground ground(String name) {
    List<Gpu> gpus = List.of(PlacementTest.gpu(name, 0, 8L << 30));
    Ground ground = new Ground(store, timers, name, gpus);
    ground.come();
    timers.pass(1000);
    return ground;
  }

  /** A session at the first server. */
  private Session open(LeaseLimits limits) throws Exception {
    return open(atFirst, grant(limits));
  }

  private static Session open(ServedSessions at, Lease lease) throws Exception {
    return at.sessions.open(lease, Ground.HOLDER, Principal.ANYONE, DriverEnvironment.NONE);
  }

  private Lease grant(LeaseLimits limits) throws Exception {
    GpuRequirements requirements =
        new GpuRequirements(2, new GpuRequirements.Size.Fraction(1), null, List.of());
    Outcome.Placed placed =
        (Outcome.Placed) Placement.place(requirements, "", first.capacity.snapshot());
    Lease lease =
        first
            .grant(
                new LeaseSpec(requirements, 0, 0, Ground.HOLDER, Principal.ANYONE, "", limits),
                placed.parts().stream()
                    .sorted(Comparator.comparing(part -> part.gpu().server()))
                    .toList())
            .lease();
    assertThat(lease.topology().spans()).isTrue();
    return lease;
  }

  /** What a worker at the second server is told that asks for a connection with the first's. */
  private TextMessage ask(LeaseLimits limits) throws Exception {
    Lease granted = grant(limits);
    timers.pass(100);
    Session session = open(atSecond, second.finder.find(granted.id().text()).orElseThrow());
    LinkedWorker worker = atSecond.attach(session);
    List<TextMessage> ignored = worker.texts();
    session.onMessage(
        TextMessage.ofType("peer")
            .put("link", 0)
            .put("session", HexFormat.of().formatHex(new byte[16]))
            .put("key", HexFormat.of().formatHex(new byte[32]))
            .build());
    List<TextMessage> told = new ArrayList<>();
    await().until(() -> told.addAll(worker.texts()));
    return told.getFirst();
  }

  @Test
  void worker_whoseOtherServerCannotBeReached_isToldToAskAgainIfItCanResume() throws Exception {
    TextMessage told = ask(RESUMABLE);
    assertThat(told.type()).isEqualTo("peer");
    assertThat(told.get("error").orElseThrow()).startsWith("server a.invalid: ");
    assertThat(told.get("again")).isPresent();
  }

  @Test
  void worker_ofASessionWithoutAWindow_isNotToldToAskAgain() throws Exception {
    TextMessage told = ask(LeaseLimits.NONE);
    assertThat(told.get("error")).isPresent();
    assertThat(told.get("again")).isEmpty();
  }

  private static ClientHello peer(Session session, SessionKey key) {
    return new ClientHello(1, 1, 1, session.id(), key);
  }

  private ServerHello connect(Session session) {
    return atFirst.connect(peer(session, session.peerKey()));
  }

  @Test
  void worker_thatComesAgain_isHandedOverEachTimeWithBytesThatNobodyKnows() throws Exception {
    Session session = open(RESUMABLE);
    LinkedWorker worker = atFirst.attach(session);
    List<TextMessage> ignored = worker.texts();
    assertThat(connect(session)).isEqualTo(ServerHello.accepted(1));
    assertThat(connect(session)).isEqualTo(ServerHello.accepted(1));
    List<String> random = new ArrayList<>();
    for (TextMessage message : worker.texts()) {
      assertThat(message.type()).isEqualTo("peer");
      assertThat(message.get("link")).hasValue("1");
      random.add(message.get("random").orElseThrow());
    }
    assertThat(random).hasSize(2).doesNotHaveDuplicates();
    assertThat(HexFormat.of().parseHex(random.getFirst())).hasSize(32);
  }

  @Test
  void worker_ofASessionWithoutAWindow_comesOnce() throws Exception {
    Session session = open(LeaseLimits.NONE);
    LinkedWorker ignored = atFirst.attach(session);
    assertThat(connect(session)).isEqualTo(ServerHello.accepted(1));
    ServerHello again = connect(session);
    assertThat(again.status()).isEqualTo(ServerHello.BAD_SESSION);
    assertThat(again.text()).isEqualTo("link 1 has been connected already");
  }

  @Test
  void worker_thatComesTooOften_isToldToComeLater() throws Exception {
    Session session = open(RESUMABLE);
    LinkedWorker worker = atFirst.attach(session);
    for (int i = 0; i < PeerAttempts.MAX_RECENT; i++) {
      assertThat(connect(session)).isEqualTo(ServerHello.accepted(1));
    }
    assertThat(connect(session).status()).isEqualTo(ServerHello.BUSY);
    assertThat(worker.isEnded()).isFalse();
    timers.pass(PeerAttempts.RECENT_MILLIS);
    assertThat(connect(session)).isEqualTo(ServerHello.accepted(1));
  }

  @Test
  void stranger_withAnotherKeyOrForASessionThatHasEnded_isRefused() throws Exception {
    Session session = open(RESUMABLE);
    LinkedWorker ignored = atFirst.attach(session);
    SessionKey other = SessionKey.random(new SecureRandom());
    assertThat(atFirst.connect(peer(session, other)).status()).isEqualTo(ServerHello.BAD_SESSION);
    assertThat(atFirst.connect(peer(session, session.key())).status())
        .isEqualTo(ServerHello.BAD_SESSION);
    session.end("test");
    assertThat(connect(session).status()).isEqualTo(ServerHello.BAD_SESSION);
  }
}
