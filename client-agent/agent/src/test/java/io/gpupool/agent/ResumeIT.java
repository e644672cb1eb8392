// SPDX-License-Identifier: Apache-2.0
package io.gpupool.agent;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.gpupool.agent.options.AgentOptions;
import io.gpupool.agent.options.AgentSockets;
import io.gpupool.agent.options.PodPrograms;
import io.gpupool.client.connection.ClientSecurity;
import io.gpupool.client.connection.PoolAddress;
import io.gpupool.client.lease.LeaseOptions;
import io.gpupool.control.v1.ResumeSessionRequest;
import io.gpupool.transport.EventLoops;
import io.gpupool.transport.UnixAddress;
import io.gpupool.transport.tls.TestAuthority;
import io.gpupool.transport.tls.TlsFiles;
import io.gpupool.wire.TextMessage;
import io.netty.channel.EventLoopGroup;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Programs whose call streams break, and their ends. */
class ResumeIT {
  private static final Duration LIMIT = Duration.ofSeconds(20);
  private static final long WINDOW_MILLIS = 60_000;
  private static final EventLoopGroup LOOPS = EventLoops.create("resume-test", 1);
  private static int number;

  private final UnixAddress socket =
      new UnixAddress("@gpupool-resume-test-" + ProcessHandle.current().pid() + "-" + number++);
  private volatile String podToken = "token-of-pod-1";
  private @Nullable Agent agent;

  @AfterEach
  void stopAgent() {
    if (agent != null) {
      agent.close();
    }
  }

  @AfterAll
  static void stopLoops() {
    LOOPS.shutdownGracefully(0, 1, TimeUnit.SECONDS);
  }

  @Test
  void attach_sessionWithAWindow_saysWhatItTakesToResume() throws Exception {
    for (boolean relay : new boolean[] {false, true}) {
      try (ResumingPool pool = pool();
          Agent started = start(pool.address(), relay);
          Shim shim = attach()) {
        assertThat(started).isNotNull();
        assertThat(shim.get("mode")).isEqualTo("descriptor");
        assertThat(shim.get("resume_window")).isEqualTo("60");
        assertThat(shim.get("session.0")).isEqualTo(shim.get("session")).hasSize(32);
        assertThat(shim.get("session_key.0")).hasSize(64);
        assertThat(shim.get("server.0")).isEqualTo("a");
        assertThat(shim.answer.get("streams")).isEmpty();
      }
    }
  }

  @Test
  void attach_streamsThatBreakBeforeTheyAreOpen_areOpenedAnew() throws Exception {
    try (ResumingPool pool = pool()) {
      agent = start(pool.address(), false);
      pool.breakNext(2);
      try (Shim shim = attach()) {
        assertThat(shim.get("session.0")).isNotEmpty();
        assertThat(pool.opened).hasSize(3);
        assertThat(pool.closed).hasSize(2);
      }
    }
  }

  @Test
  void attach_streamsThatBreakEachTime_isRefused() throws Exception {
    try (ResumingPool pool = pool()) {
      agent = start(pool.address(), false);
      pool.breakNext(Integer.MAX_VALUE);
      assertRefused(
          Shim.attach().put("lease", "L1.secret"), "unreachable", "hung up during the handshake");
    }
  }

  @Test
  void attach_serverThatRestarts_isWaitedForBySessionsThatOutliveIt() throws Exception {
    try (ResumingPool pool = pool()) {
      agent = start(pool.address(), false);
      pool.refuseNext(1);
      try (Shim shim = new Shim(socket)) {
        TextMessage told = shim.ask(Shim.attach().put("lease", "L1.secret").build());
        assertThat(told.type()).isEqualTo("waiting");
        assertThat(told.get("message").orElse("")).contains("the server is stopping");
        pool.leave();
        assertThat(shim.socket.receive().orElseThrow().get("message").orElse(""))
            .contains("cannot be reached");
        pool.comeBack();
        assertThat(shim.afterWaiting().type()).isEqualTo("attached");
      }
    }
  }

  @Test
  void attach_serverThatRestarts_isNotWaitedForBySessionsWithoutAWindow() throws Exception {
    try (ResumingPool pool = new ResumingPool(TlsFiles.NONE, 0)) {
      agent = start(pool.address(), false);
      pool.refuseNext(1);
      assertRefused(
          Shim.attach().put("lease", "L1.secret"), "unreachable", "the server is stopping");
    }
  }

  @Test
  void attach_sessionWithoutAWindow_isNotOfferedToResume() throws Exception {
    try (ResumingPool pool = new ResumingPool(TlsFiles.NONE, 0)) {
      agent = start(pool.address(), true);
      try (Shim shim = attach()) {
        assertThat(shim.get("mode")).isEqualTo("relay");
        assertThat(shim.answer.fields()).doesNotContainKeys("resume_window", "session_key.0");
      }
    }
  }

  @Test
  void resume_streamThatBroke_isReplacedAndTheProgramsEndStillEndsTheSession() throws Exception {
    for (boolean relay : new boolean[] {false, true}) {
      try (ResumingPool pool = pool();
          Agent started = start(pool.address(), relay)) {
        assertThat(started).isNotNull();
        try (Shim shim = attach()) {
          for (int cuts = 0; cuts < 3; cuts++) {
            pool.cut();
            assertThat(shim.readLine()).isNull();
            try (Shim again = resume(shim, false)) {
              assertThat(again.say("hello")).isEqualTo("again hello");
              assertThat(again.socket.receive()).isEmpty();
            }
          }
          assertThat(pool.resumed.getFirst().getServer()).isEqualTo("a");
          assertThat(pool.resumed.getFirst().getClient().getProgram()).isEqualTo("shim");
          assertThat(pool.closed).isEmpty();
        }
        awaitClosed(pool);
      }
    }
  }

  @Test
  void resume_suspendedSession_isAskedForUntilTheProgramWakesIt() throws Exception {
    try (ResumingPool pool = pool()) {
      agent = start(pool.address(), false);
      try (Shim shim = attach();
          Shim again = new Shim(socket)) {
        pool.suspend();
        pool.cut();
        TextMessage told = again.ask(request(shim, false).put("suspends", 1).build());
        assertThat(told.type()).isEqualTo("suspended");
        assertThat(told.get("reason")).hasValue("it sleeps");
        assertThat(told.get("wakes")).hasValue("1");
        await().atMost(LIMIT).until(() -> pool.resumed.size() >= 3);
        assertThat(pool.resumed)
            .allMatch(ResumeSessionRequest::getCanSuspend)
            .noneMatch(ResumeSessionRequest::getWake);
        again.attach(TextMessage.ofType("wake"));
        assertThat(again.answer.type()).isEqualTo("resumed");
        assertThat(again.say("hello")).isEqualTo("again hello");
      }
      awaitClosed(pool);
    }
  }

  @Test
  void resume_overTls_isRelayed(@TempDir Path folder) throws Exception {
    TestAuthority authority = new TestAuthority(folder);
    TlsFiles files =
        TestAuthority.server(
            authority.issue("server", "IP:127.0.0.1,DNS:localhost"), Optional.empty());
    try (ResumingPool pool = new ResumingPool(files, WINDOW_MILLIS)) {
      agent = start(options(pool.address(), authority.client(), false, null));
      try (Shim shim = attach()) {
        assertThat(shim.get("mode")).isEqualTo("descriptor");
        pool.cut();
        assertThat(shim.readLine()).isNull();
        try (Shim again = resume(shim, false)) {
          assertThat(again.say("hello")).isEqualTo("again hello");
          pool.cut();
          assertThat(again.readLine()).isNull();
        }
        assertThat(pool.closed).isEmpty();
      }
      awaitClosed(pool);
    }
  }

  @Test
  void resume_afterTheAgentStartedAnew_holdsTheSessionUntilTheProgramEnds() throws Exception {
    for (boolean relay : new boolean[] {false, true}) {
      try (ResumingPool pool = pool()) {
        Agent first = start(pool.address(), relay);
        try (Shim shim = attach()) {
          first.close();
          assertThat(shim.socket.receive()).isEmpty();
          if (!relay) {
            assertThat(shim.say("alone")).isEqualTo("alone");
          }
          try (Agent second = start(pool.address(), relay)) {
            assertThat(second).isNotNull();
            pool.cut();
            assertThat(shim.readLine()).isNull();
            try (Shim again = resume(shim, true)) {
              assertThat(again.say("hello")).isEqualTo("again hello");
              assertThat(pool.closed).isEmpty();
            }
            awaitClosed(pool);
          }
        }
      }
    }
  }

  @Test
  void programsEnd_poolOutOfService_isToldAgainUntilItIsHeard() throws Exception {
    try (ResumingPool pool = pool()) {
      agent = start(pool.address(), false);
      pool.closesUnavailable.set(3);
      attach().close();
      awaitClosed(pool);
      assertThat(pool.closesUnavailable).hasValue(0);
    }
  }

  @Test
  void programsEnd_justBeforeThatOfTheAgent_endsTheSession() throws Exception {
    try (ResumingPool pool = pool()) {
      Agent started = start(pool.address(), false);
      Shim shim = attach();
      shim.close();
      started.close();
      awaitClosed(pool);
    }
  }

  @Test
  void leaseEnded_afterAResumption_endsTheStreamOfNow() throws Exception {
    for (boolean holds : new boolean[] {false, true}) {
      try (ResumingPool pool = pool();
          Agent started = start(pool.address(), false);
          Shim shim = attach()) {
        assertThat(started).isNotNull();
        pool.cut();
        try (Shim again = resume(shim, holds);
            Shim holder = new Shim(socket)) {
          assertThat(again.say("hello")).isEqualTo("again hello");
          holder.socket.send(
              TextMessage.ofType("ended").put("lease", "L1.secret").put("message", "over").build());
          TextMessage told = (holds ? again : shim).socket.receive().orElseThrow();
          assertThat(told.get("message").orElse("")).contains("over");
          assertThat(again.readLine()).isNull();
        }
      }
    }
  }

  @Test
  void resume_poolAway_isUnreachableAndWorksOnceItIsBack() throws Exception {
    try (ResumingPool pool = pool()) {
      agent = start(pool.address(), false);
      try (Shim shim = attach()) {
        pool.leave();
        pool.cut();
        assertRefused(shim, "unreachable", "cannot be reached");
        pool.comeBack();
        try (Shim again = resume(shim, false)) {
          assertThat(again.say("hello")).isEqualTo("again hello");
        }
      }
    }
  }

  @Test
  void resume_poolSilentOnItsOldConnection_asksOverANewOne() throws Exception {
    try (ResumingPool pool = pool()) {
      agent = start(pool.address(), false);
      try (Shim shim = attach()) {
        pool.answer = ResumingPool.Answer.SILENCE_ON_OLD_CONNECTION;
        pool.cut();
        try (Shim again = resume(shim, false)) {
          assertThat(again.say("hello")).isEqualTo("again hello");
        }
        assertThat(pool.resumed).hasSize(2);
      }
    }
  }

  @Test
  void resume_serverElsewhere_isFollowed() throws Exception {
    try (ResumingPool pool = pool();
        ResumingPool other = pool()) {
      agent = start(pool.address(), false);
      try (Shim shim = attach()) {
        other.takeSessionsOf(pool);
        pool.elsewhere = other.address().toString();
        pool.cut();
        try (Shim again = resume(shim, false)) {
          assertThat(again.say("hello")).isEqualTo("again hello");
        }
        assertThat(other.resumed).hasSize(1);
      }
    }
  }

  @Test
  void resume_whatCannotBe_isRefusedWithItsCause() throws Exception {
    try (ResumingPool pool = pool()) {
      agent = start(pool.address(), false);
      try (Shim shim = attach()) {
        pool.denied.add("Bearer mine");
        assertRefused(request(shim, false).put("token", "mine"), "denied", "another's");
        pool.answer = ResumingPool.Answer.STALE_KEY;
        assertRefused(shim, "unreachable", "refuses");
        pool.endSessions();
        assertRefused(shim, "refused", "it may have ended");
        assertRefused(request(shim, false).put("session_key", "x"), "protocol", "session_key");
        assertRefused(request(shim, false).put("protocol", 2), "protocol", "same gpupool version");
        assertRefused(
            TextMessage.ofType("resume").put("protocol", 1), "protocol", "lacks the field");
      }
    }
  }

  @Test
  void resume_ofAPod_isByThePodsTokenOfNow() throws Exception {
    try (ResumingPool pool = pool()) {
      agent = start(options(pool.address(), TlsFiles.NONE, false, new OnePod()));
      try (Shim shim = attach()) {
        podToken = "renewed";
        pool.cut();
        try (Shim again = resume(shim, false)) {
          assertThat(again.say("hello")).isEqualTo("again hello");
        }
        assertThat(pool.resumeTokens).containsExactly("Bearer renewed");
        podToken = "of-another-pod";
        pool.denied.add("Bearer of-another-pod");
        assertRefused(request(shim, false).put("token", "renewed"), "denied", "another's");
      }
    }
  }

  private static ResumingPool pool() throws Exception {
    return new ResumingPool(TlsFiles.NONE, WINDOW_MILLIS);
  }

  private Shim attach() throws Exception {
    Shim shim = new Shim(socket);
    shim.attach(Shim.attach().put("lease", "L1.secret"));
    assertThat(shim.answer.type()).describedAs("%s", shim.answer).isEqualTo("attached");
    assertThat(shim.say("hello")).isEqualTo("hello");
    return shim;
  }

  private static TextMessage.Builder request(Shim broken, boolean holds) {
    return Shim.resume(broken).put("holds", holds ? 1 : 0);
  }

  private Shim resume(Shim broken, boolean holds) throws Exception {
    Shim again = new Shim(socket);
    again.attach(request(broken, holds));
    assertThat(again.answer.type()).describedAs("%s", again.answer).isEqualTo("resumed");
    return again;
  }

  private void assertRefused(Shim broken, String cause, String message) throws Exception {
    assertRefused(request(broken, false), cause, message);
  }

  private void assertRefused(TextMessage.Builder request, String cause, String message)
      throws Exception {
    try (Shim shim = new Shim(socket)) {
      TextMessage answer = shim.attach(request);
      assertThat(answer.type()).describedAs("%s", answer).isEqualTo("refused");
      assertThat(answer.get("cause")).describedAs("%s", answer).contains(cause);
      assertThat(answer.get("message").orElse("")).contains(message);
      assertThat(shim.socket.receive()).isEmpty();
    }
  }

  private static void awaitClosed(ResumingPool pool) {
    await().atMost(LIMIT).until(() -> pool.closed.size() == 1);
  }

  private Agent start(PoolAddress pool, boolean relay) throws Exception {
    return start(options(pool, TlsFiles.NONE, relay, null));
  }

  private static Agent start(AgentOptions options) throws Exception {
    return Agent.start(options, LOOPS);
  }

  private AgentOptions options(
      PoolAddress pool, TlsFiles files, boolean relay, @Nullable PodPrograms pods) {
    return new AgentOptions(
        new AgentSockets(socket, null),
        pool,
        null,
        new ClientSecurity(files, false, false),
        LeaseOptions.NOTHING,
        relay,
        pods,
        true);
  }

  /** All processes are of one pod, by the token that it has now. */
  private final class OnePod implements PodPrograms {
    @Override
    public long nowTicks() {
      return 7;
    }

    @Override
    public Pod podOf(int pid, long thereTicks) {
      return new Pod("uid-1", new NowToken(podToken));
    }
  }

  /** A token that a pod shows. */
  private record NowToken(String get) implements Supplier<String> {}
}
