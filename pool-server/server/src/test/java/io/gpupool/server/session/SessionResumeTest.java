// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.session;

import static org.assertj.core.api.Assertions.assertThat;

import io.gpupool.server.identity.Principal;
import io.gpupool.server.lease.lifecycle.Ground;
import io.gpupool.server.limits.LeaseLimits;
import io.gpupool.server.metrics.Metric;
import io.gpupool.server.placement.PlacementTest;
import io.gpupool.server.tenant.Tokens;
import io.gpupool.server.worker.LinkedWorker;
import io.gpupool.wire.ClientHello;
import io.gpupool.wire.SealSecret;
import io.gpupool.wire.ServerHello;
import io.gpupool.wire.SessionKey;
import io.gpupool.wire.TextMessage;
import java.security.SecureRandom;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** Sessions whose connections break, and those who connect to them again. */
class SessionResumeTest {
  private static final long HOUR_MILLIS = 3_600_000;
  private static final TextMessage CUT =
      TextMessage.ofType("disconnected").put("reason", "connection reset").build();
  private static final TextMessage BACK = TextMessage.ofType("resumed").build();

  private final Ground ground = new Ground(List.of(PlacementTest.gpu("host:7642", 0, 8L << 30)));
  private final ServedSessions served = new ServedSessions(ground);
  private Tokens.Made token;
  private Principal blue;
  private Session session;
  private LinkedWorker worker;

  @BeforeEach
  void attach() throws Exception {
    token = served.tenant("blue", HOUR_MILLIS);
    blue = served.principal(token);
    session = served.open(blue);
    worker = served.attach(session);
  }

  @Test
  void assign_leaseHasAResumeWindow_tellsTheWorker() {
    assertThat(worker.texts())
        .filteredOn(message -> message.type().equals("assign"))
        .singleElement()
        .satisfies(message ->
            assertThat(message.get("resumeWindow"))
                .hasValue(Long.toString(session.lease().resumeWindowMillis())));
  }

  /** The kernel of one machine carries a local stream, whatever the server's port speaks. */
  @Test
  void attach_sessionIsSealed_workerGetsTheSecretOfStreamsOverTcpAlone() throws Exception {
    for (boolean isLocal : new boolean[] {false, true}) {
      Session sealed = served.open(blue);
      StreamSeal seal = served.sessions.seal(sealed);
      LinkedWorker its = served.attach(sealed, seal.key(), isLocal);
      assertSecret(its, isLocal ? null : seal.secret());
      sealed.onMessage(CUT);
      SessionKey key = served.sessions.resume(sealed, blue).orElseThrow();
      SealSecret next = served.sessions.sealNext(sealed);
      assertThat(served.connect(ClientHello.resuming(1, 1, sealed.id(), key), isLocal).isAccepted())
          .isTrue();
      assertSecret(its, isLocal ? null : next);
    }
  }

  private static void assertSecret(LinkedWorker worker, @Nullable SealSecret secret) {
    assertThat(worker.texts())
        .filteredOn(message -> message.type().equals("attach"))
        .singleElement()
        .satisfies(message -> {
          assertThat(message.get("secret"))
              .isEqualTo(Optional.ofNullable(secret).map(SealSecret::hex));
          assertThat(message.get("local").isPresent()).isEqualTo(secret == null);
        });
  }

  @Test
  void resume_afterACut_handsTheWorkerAnotherStreamAndCounts() {
    session.onMessage(CUT);
    assertThat(session.state()).isEqualTo(Session.State.DISCONNECTED);
    ground.timers.pass(7000);
    assertThat(session.resumeMillisLeft()).hasValue(session.resumeWindowMillis() - 7000);
    List<String> ignored = worker.told();
    assertThat(served.resume(session, key())).isEqualTo(ServerHello.ACCEPTED);
    assertThat(worker.told()).containsExactly("attach", "descriptor");
    assertThat(session.state())
        .as("until the worker has answered the program")
        .isEqualTo(Session.State.DISCONNECTED);
    session.onMessage(BACK);
    assertThat(session.state()).isEqualTo(Session.State.ATTACHED);
    assertThat(session.resumeMillisLeft()).isEmpty();
    assertThat(counted())
        .containsEntry(Metric.SESSION_DISCONNECTS, 1L)
        .containsEntry(Metric.SESSION_RESUMES, 1L);
    ground.timers.pass(2 * session.resumeWindowMillis());
    assertThat(session.state()).as("its window is over").isEqualTo(Session.State.ATTACHED);
  }

  @Test
  void resume_beforeTheWorkerHasNoticedTheCut_countsBoth() {
    assertThat(served.resume(session, key())).isEqualTo(ServerHello.ACCEPTED);
    session.onMessage(BACK);
    assertThat(session.state()).isEqualTo(Session.State.ATTACHED);
    assertThat(counted())
        .containsEntry(Metric.SESSION_DISCONNECTS, 1L)
        .containsEntry(Metric.SESSION_RESUMES, 1L);
  }

  @Test
  void resume_keyUsedReplacedExpiredOrAnothers_isRefused() throws Exception {
    session.onMessage(CUT);
    assertThat(served.resume(session, session.key()))
        .as("the session's key")
        .isEqualTo(ServerHello.BAD_SESSION);
    SessionKey replaced = key();
    SessionKey used = key();
    assertThat(served.resume(session, replaced)).as("replaced").isEqualTo(ServerHello.BAD_SESSION);
    assertThat(served.resume(session, used)).as("the right one").isEqualTo(ServerHello.ACCEPTED);
    assertThat(served.resume(session, used)).as("used").isEqualTo(ServerHello.BAD_SESSION);
    SessionKey late = key();
    ground.timers.pass(Resumption.KEY_LIMIT_MILLIS);
    assertThat(served.resume(session, late)).as("expired").isEqualTo(ServerHello.BAD_SESSION);
    Session other = served.open(blue);
    LinkedWorker ignored = served.attach(other);
    SessionKey others = served.sessions.resume(other, blue).orElseThrow();
    assertThat(served.resume(session, others)).as("another's").isEqualTo(ServerHello.BAD_SESSION);
    assertThat(served.resume(session, SessionKey.random(new SecureRandom())))
        .as("guessed")
        .isEqualTo(ServerHello.BAD_SESSION);
    assertThat(session.state()).isEqualTo(Session.State.DISCONNECTED);
  }

  @Test
  void join_resumeKeyAsTheSessionsOwn_isRefused() {
    session.onMessage(CUT);
    assertThat(served.connect(new ClientHello(1, 1, session.id(), key())).status())
        .isEqualTo(ServerHello.BAD_SESSION);
    assertThat(served.connect(new ClientHello(1, 1, session.id(), session.key())).status())
        .as("the first handshake once more")
        .isEqualTo(ServerHello.BAD_SESSION);
  }

  @Test
  void resume_tokenRevokedSinceTheKeyWasGiven_endsTheSession() throws Exception {
    session.onMessage(CUT);
    SessionKey key = key();
    var ignored = ground.tokens.revoke(Principal.ANYONE, token.hash().id());
    assertThat(served.resume(session, key)).isEqualTo(ServerHello.DENIED);
    assertThat(session.state()).isEqualTo(Session.State.ENDING);
  }

  @Test
  void resume_tokenOfTheBeginningHasExpired_theOneOfTheCallerCounts() throws Exception {
    session.onMessage(CUT);
    Principal renewed =
        served.principal(
            ground.tokens.create(
                Principal.ANYONE, "blue", io.gpupool.server.identity.Role.USER, 0, ""));
    ground.timers.pass(50_000);
    var ignored = ground.tokens.revoke(Principal.ANYONE, token.hash().id());
    SessionKey key = served.sessions.resume(session, renewed).orElseThrow();
    assertThat(served.resume(session, key)).isEqualTo(ServerHello.ACCEPTED);
  }

  @Test
  void resume_tooOftenInAShortTime_endsTheSession() {
    for (int i = 0; i < Resumption.MAX_RECENT; i++) {
      assertThat(served.resume(session, key())).isEqualTo(ServerHello.ACCEPTED);
      session.onMessage(BACK);
    }
    assertThat(served.sessions.resume(session, blue)).isEmpty();
    assertThat(session.state()).isEqualTo(Session.State.ENDING);
    assertThat(worker.isEnded()).isTrue();
  }

  @Test
  void resume_asOftenOverALongerTime_goesOn() {
    for (int i = 0; i < 3 * Resumption.MAX_RECENT; i++) {
      assertThat(served.resume(session, key())).isEqualTo(ServerHello.ACCEPTED);
      session.onMessage(BACK);
      ground.timers.pass(Resumption.RECENT_MILLIS / Resumption.MAX_RECENT + 1);
    }
    assertThat(session.state()).isEqualTo(Session.State.ATTACHED);
  }

  @Test
  void disconnected_workerDoesNotEndAfterTheWindow_theServerEndsIt() {
    session.onMessage(CUT);
    ground.timers.pass(session.resumeWindowMillis() + Resumption.WORKER_LIMIT_MILLIS - 1);
    assertThat(session.state()).isEqualTo(Session.State.DISCONNECTED);
    assertThat(session.resumeMillisLeft()).hasValue(0L);
    ground.timers.pass(1);
    assertThat(session.state()).isEqualTo(Session.State.ENDING);
    assertThat(worker.isEnded()).isTrue();
  }

  @Test
  void resume_workerInACallOfTheDriverWhenTheWindowEnds_hasMoreTime() {
    session.onMessage(CUT);
    assertThat(served.resume(session, key())).isEqualTo(ServerHello.ACCEPTED);
    ground.timers.pass(session.resumeWindowMillis() + Resumption.BUSY_WORKER_LIMIT_MILLIS - 1);
    assertThat(session.state()).isEqualTo(Session.State.DISCONNECTED);
    session.onMessage(BACK);
    ground.timers.pass(1);
    assertThat(session.state()).isEqualTo(Session.State.ATTACHED);
  }

  @Test
  void end_whileDisconnected_endsAtOnceAndTheKeyOpensNothing() {
    session.onMessage(CUT);
    SessionKey key = key();
    session.end("it was ended by an admin");
    assertThat(worker.isEnded()).isTrue();
    assertThat(session.resumeMillisLeft()).isEmpty();
    assertThat(served.resume(session, key)).isEqualTo(ServerHello.BAD_SESSION);
    session.workerExited(0);
    assertThat(served.sessions.all()).isEmpty();
    assertThat(served.resume(session, key)).as("gone").isEqualTo(ServerHello.BAD_SESSION);
  }

  @Test
  void endOfLease_whileDisconnected_endsTheSession() {
    session.onMessage(CUT);
    ground.leases.end(session.lease(), "released");
    assertThat(session.state()).isEqualTo(Session.State.ENDING);
    assertThat(worker.isEnded()).isTrue();
  }

  @Test
  void ended_byTheWorkerWhileDisconnected_endsTheSession() {
    session.onMessage(CUT);
    session.onMessage(TextMessage.ofType("ended").put("reason", "the window is over").build());
    assertThat(session.state()).isEqualTo(Session.State.ENDING);
  }

  @Test
  void onMessage_ofAWorkerThatIsNotAttached_changesNothing() throws Exception {
    Session opening = served.open(blue);
    opening.onMessage(CUT);
    opening.onMessage(BACK);
    assertThat(opening.state()).isEqualTo(Session.State.OPENING);
    assertThat(counted()).doesNotContainKey(Metric.SESSION_DISCONNECTS);
  }

  @Test
  void disconnected_programWaitedForTheGpu_leaseIsIdle() throws Exception {
    Session waiting = served.open(blue, new LeaseLimits(8000, 0, 0, 60_000));
    List<String> ended = new ArrayList<>();
    ground.leases.hold(waiting.lease(), ended::add);
    LinkedWorker ignored = served.attach(waiting);
    waiting.onMessage(TextMessage.ofType("stats").put("calls", 7).put("waits", 1).build());
    ground.timers.pass(12_000);
    assertThat(ended).as("its program waits").isEmpty();
    waiting.onMessage(CUT);
    ground.timers.pass(10_000);
    assertThat(ended).containsExactly("it was idle for 8s");
  }

  private SessionKey key() {
    return served.sessions.resume(session, blue).orElseThrow();
  }

  private Map<Metric, Long> counted() {
    return ground.leases.metrics().rows(tenant -> tenant.equals("blue")).stream()
        .collect(Collectors.toMap(sample -> sample.count(), sample -> sample.amount(), Long::sum));
  }
}
