// SPDX-License-Identifier: Apache-2.0
package io.gpupool.agent;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.gpupool.agent.options.AgentOptions;
import io.gpupool.agent.options.AgentSockets;
import io.gpupool.agent.options.PodPrograms;
import io.gpupool.client.connection.ClientSecurity;
import io.gpupool.client.lease.LeaseOptions;
import io.gpupool.transport.EventLoops;
import io.gpupool.transport.UnixAddress;
import io.gpupool.transport.tls.TlsFiles;
import io.gpupool.wire.TextMessage;
import io.netty.channel.EventLoopGroup;
import java.time.Duration;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** Programs whose agent is gone, and what the next agent takes over. */
class HoldIT {
  private static final Duration LIMIT = Duration.ofSeconds(20);
  private static final String MADE = "L9.made";
  private static final EventLoopGroup LOOPS = EventLoops.create("hold-test", 1);
  private static int number;

  private final UnixAddress socket =
      new UnixAddress("@gpupool-hold-test-" + ProcessHandle.current().pid() + "-" + number++);
  private ResumingPool pool;

  @BeforeEach
  void startPool() throws Exception {
    pool = new ResumingPool(TlsFiles.NONE, 60_000);
  }

  @AfterEach
  void stopPool() {
    pool.close();
  }

  @AfterAll
  static void stopLoops() {
    LOOPS.shutdownGracefully(0, 1, TimeUnit.SECONDS);
  }

  @Test
  void hold_leaseThatTheAgentMade_isHeldAgainUntilTheProgramEnds() throws Exception {
    try (Shim former = attachAndRestart(Shim.attach())) {
      try (Agent next = start(null)) {
        assertThat(next).isNotNull();
        assertThat(pool.released).isEmpty();
        try (Shim shim = new Shim(socket)) {
          TextMessage answer =
              shim.ask(request(former).put("ticket", former.get("ticket")).build());
          assertThat(answer.type()).describedAs("%s", answer).isEqualTo("holding");
          assertThat(pool.held).containsExactly(MADE);
          confirm(shim);
          assertThat(former.say("hello")).isEqualTo("hello");
        }
        await().atMost(LIMIT).until(() -> pool.released.contains(MADE) && pool.held.isEmpty());
      }
    }
  }

  @Test
  void hold_leaseOfAnother_closesTheSessionWhenTheProgramEnds() throws Exception {
    try (Shim former = attachAndRestart(Shim.attach().put("lease", "L1.secret"))) {
      assertThat(former.answer.fields()).doesNotContainKey("ticket");
      try (Agent next = start(null)) {
        assertThat(next).isNotNull();
        try (Shim shim = new Shim(socket)) {
          TextMessage answer = shim.ask(request(former).put("lease", "L1.secret").build());
          assertThat(answer.type()).describedAs("%s", answer).isEqualTo("holding");
          assertThat(pool.closed).isEmpty();
          confirm(shim);
        }
        await().atMost(LIMIT).until(() -> pool.closed.size() == 1);
        assertThat(pool.held).isEmpty();
        assertThat(pool.released).isEmpty();
      }
    }
  }

  @Test
  void hold_answerNotHeard_leavesLeaseAndSession() throws Exception {
    try (Shim former = attachAndRestart(Shim.attach());
        Agent next = start(null)) {
      assertThat(next).isNotNull();
      try (Shim shim = new Shim(socket)) {
        assertThat(shim.ask(request(former).put("ticket", MADE).build()).type())
            .isEqualTo("holding");
      }
      await().atMost(LIMIT).until(() -> pool.held.isEmpty());
      assertThat(pool.released).isEmpty();
      assertThat(pool.closed).isEmpty();
    }
  }

  @Test
  void hold_thenTheEndOfThatAgent_leavesLeaseAndSessionAgain() throws Exception {
    try (Shim former = attachAndRestart(Shim.attach())) {
      Agent next = start(null);
      try (Shim shim = new Shim(socket)) {
        assertThat(shim.ask(request(former).put("ticket", MADE).build()).type())
            .isEqualTo("holding");
        confirm(shim);
        next.close();
        await().atMost(LIMIT).until(() -> pool.held.isEmpty());
        assertThat(pool.released).isEmpty();
        assertThat(pool.closed).isEmpty();
      }
    }
  }

  @Test
  void leaseEnded_ofAHeldProgram_isToldToIt() throws Exception {
    try (Shim former = attachAndRestart(Shim.attach().put("lease", "L1.secret"));
        Agent next = start(null);
        Shim shim = new Shim(socket);
        Shim holder = new Shim(socket)) {
      assertThat(next).isNotNull();
      assertThat(shim.ask(request(former).put("lease", "L1.secret").build()).type())
          .isEqualTo("holding");
      holder.socket.send(
          TextMessage.ofType("ended").put("lease", "L1.secret").put("message", "over").build());
      TextMessage told = shim.socket.receive().orElseThrow();
      assertThat(told.get("message").orElse("")).contains("over");
    }
  }

  @Test
  @SuppressWarnings("try") // Closing the agent early is what is tested.
  void hold_resumedWithoutASignOfLife_isGuardedLikeThatOfTheAttach() throws Exception {
    try (Shim former = attachAndRestart(Shim.attach().put("lease", "L1.secret"));
        Agent next = start(null);
        Shim shim = new Shim(socket);
        Shim again = new Shim(socket)) {
      assertThat(shim.ask(request(former).put("lease", "L1.secret").build()).type())
          .isEqualTo("holding");
      pool.cut();
      again.attach(
          Shim.attach()
              .put("type", "resume")
              .put("lease", "L1.secret")
              .put("session", former.get("session.0"))
              .put("session_key", former.get("session_key.0"))
              .put("server", former.get("server.0"))
              .put("resume_window", 60)
              .put("holds", 0));
      assertThat(again.say("hello")).isEqualTo("again hello");
      next.close();
      assertThat(pool.closed).isEmpty();
    }
  }

  @Test
  void hold_whatIsNotTheProgramsOwn_isRefused() throws Exception {
    try (Shim former = attachAndRestart(Shim.attach());
        Agent next = start(null)) {
      assertThat(next).isNotNull();
      assertRefused(request(former), "protocol", "names no lease");
      assertRefused(request(former).put("ticket", "L9.guessed"), "refused", "unknown");
      assertRefused(
          request(former).put("ticket", MADE).put("session_key.0", "x"), "protocol", "hexadecimal");
      pool.endSessions();
      assertRefused(request(former).put("ticket", MADE), "refused", "it may have ended");
      await().atMost(LIMIT).until(() -> pool.held.isEmpty());
      assertThat(pool.released).isEmpty();
    }
  }

  @Test
  void hold_poolAway_isUnreachable() throws Exception {
    try (Shim former = attachAndRestart(Shim.attach());
        Agent next = start(null)) {
      assertThat(next).isNotNull();
      pool.leave();
      assertRefused(request(former).put("ticket", MADE), "unreachable", "cannot be reached");
      pool.comeBack();
    }
  }

  @Test
  void hold_ofAPod_isOfThePodsLeaseWhateverTicketItShows() throws Exception {
    try (Shim former = attachAndRestart(Shim.attach().put("lease", "L1.secret"));
        Agent next = start(new OnePod());
        Shim shim = new Shim(socket)) {
      assertThat(next).isNotNull();
      TextMessage answer =
          shim.ask(request(former).put("ticket", MADE).put("token", "mine").build());
      assertThat(answer.type()).describedAs("%s", answer).isEqualTo("holding");
      assertThat(pool.held).isEmpty();
      assertThat(pool.resumeTokens).containsExactly("Bearer token-of-pod");
    }
  }

  /** Attaches to an agent, which then ends as for an upgrade. */
  private Shim attachAndRestart(TextMessage.Builder attach) throws Exception {
    try (Agent first = start(null)) {
      assertThat(first).isNotNull();
      Shim shim = new Shim(socket);
      shim.attach(attach);
      assertThat(shim.answer.type()).describedAs("%s", shim.answer).isEqualTo("attached");
      assertThat(shim.say("hello")).isEqualTo("hello");
      return shim;
    }
  }

  private static void confirm(Shim shim) throws Exception {
    shim.socket.send(TextMessage.ofType("held").build());
  }

  private static TextMessage.Builder request(Shim former) {
    return TextMessage.ofType("hold")
        .put("protocol", 1)
        .put("pid", ProcessHandle.current().pid())
        .put("program", "shim")
        .put("window", 60)
        .put("streams", 1)
        .put("session.0", former.get("session.0"))
        .put("session_key.0", former.get("session_key.0"))
        .put("server.0", former.get("server.0"));
  }

  private void assertRefused(TextMessage.Builder request, String cause, String message)
      throws Exception {
    try (Shim shim = new Shim(socket)) {
      TextMessage answer = shim.ask(request.build());
      assertThat(answer.type()).describedAs("%s", answer).isEqualTo("refused");
      assertThat(answer.get("cause")).describedAs("%s", answer).contains(cause);
      assertThat(answer.get("message").orElse("")).contains(message);
    }
  }

  private Agent start(@Nullable PodPrograms pods) throws Exception {
    return Agent.start(
        new AgentOptions(
            new AgentSockets(socket, null),
            pool.address(),
            null,
            new ClientSecurity(TlsFiles.NONE, false, false),
            LeaseOptions.NOTHING,
            false,
            pods,
            true),
        LOOPS);
  }

  /** All processes are of one pod. */
  private static final class OnePod implements PodPrograms {
    @Override
    public long nowTicks() {
      return 7;
    }

    @Override
    public Pod podOf(int pid, long thereTicks) {
      return new Pod("uid-1", () -> "token-of-pod");
    }
  }
}
