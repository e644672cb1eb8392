// SPDX-License-Identifier: Apache-2.0
package io.gpupool.e2e;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.gpupool.transport.tls.TestAuthority;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.NullSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Agents that end, and start again or do not, beneath programs with resume windows. */
class AgentRestartIT {
  private static final int RESTARTS = 3;
  private static final long DEVICE_UNAVAILABLE = 46;
  private static final long GPU_BYTES = 1L << 30;
  private static final String[] NO_OPTIONS = {};

  /** Longer than an agent takes to start on a busy machine. */
  private static final String WINDOW = "180s";

  private static final Duration IDLE = Duration.ofSeconds(20);

  private static Pool pool;

  @BeforeAll
  static void startPool() {
    pool = Pool.start("soft:1,mem=1Gi");
  }

  @AfterAll
  static void stopPool() {
    if (pool != null) {
      pool.close();
    }
  }

  @ParameterizedTest
  @ValueSource(strings = {"KILL", "TERM"})
  void agent_endedAndStartedAgain_keepsItsPrograms(String signal, @TempDir Path folder) {
    restartBeneathPrograms(pool, signal, folder, NO_OPTIONS);
    pool.awaitFreeBytes(GPU_BYTES);
  }

  @ParameterizedTest
  @NullSource
  @ValueSource(strings = "--relay-call-streams")
  void agent_ofPoolWithTls_killedAndStartedAgain_keepsItsPrograms(
      String option, @TempDir Path folder) throws IOException {
    TestAuthority authority = new TestAuthority(folder.resolve("authority"));
    TestAuthority.Issued issued = authority.issue("server", "IP:127.0.0.1");
    List<String> server =
        new ArrayList<>(
            List.of(
                "--tls-cert",
                issued.certificate().toString(),
                "--tls-key",
                issued.key().toString()));
    if (option != null) {
      server.add(option);
    }
    try (Pool secured = Pool.start("soft:1,mem=1Gi", server.toArray(String[]::new))) {
      restartBeneathPrograms(
          secured, "KILL", folder, new String[] {"--tls-ca", authority.root().toString()});
    }
  }

  private static void restartBeneathPrograms(
      Pool on, String signal, Path folder, String[] options) {
    long granted = logged(on, " granted to ");
    Agent agent = Agent.start(on, folder, options);
    try (Tenant alone = Tenant.of(alone(agent, WINDOW).start());
        Tenant ofRun = Tenant.of(ofRun(agent, options).start())) {
      alone.ask("steady");
      ofRun.ask("steady");
      for (int restart = 0; restart < RESTARTS; restart++) {
        agent = startAgain(agent, on, signal, folder, options);
      }
      alone.assertWorkedSteadily();
      ofRun.assertWorkedSteadily();
      alone.assertWorks();
      assertThat(logged(on, " granted to ")).as("leases granted").isEqualTo(granted + 2);
      assertThat(logged(on, " is gone")).as("leases gone").isEqualTo(granted);
      // The agent of now sees the end of a program that cannot tell of it.
      alone.run().kill();
      ofRun.tell("exit 0");
      await().atMost(IDLE).until(() -> logged(on, " is gone") == granted + 2);
    } finally {
      agent.close();
    }
  }

  /** The number of lines about leases that a server has logged, which it does over TLS as well. */
  private static long logged(Pool on, String what) {
    return on.server()
        .errors()
        .lines()
        .filter(line -> line.contains("LeaseService: lease ") && line.contains(what))
        .count();
  }

  /** Ends an agent, starts the next one, and waits until both programs have come to it. */
  private static Agent startAgain(
      Agent former, Pool on, String signal, Path folder, String[] options) {
    former.program().signal(signal);
    former.program().awaitEnd();
    former.close();
    Agent next = Agent.start(on, folder, options);
    for (int program = 0; program < 2; program++) {
      next.program().awaitErrorLine(line -> line.contains("held for tenant"));
    }
    return next;
  }

  @Test
  void agent_goneForLongerThanTheWindow_isTheErrorOfItsProgram(@TempDir Path folder) {
    try (Agent agent = Agent.start(pool, folder);
        Tenant alone = Tenant.of(alone(agent, "2s").start())) {
      agent.program().kill();
      pool.awaitIdle();
      assertThat(alone.ask("work 5")).containsExactly(DEVICE_UNAVAILABLE);
      // Its lines on both streams come by themselves.
      alone.run().awaitErrorLine(line -> line.contains("session is lost"));
      assertThat(alone.run().errors().lines().filter(line -> line.contains("session is lost")))
          .singleElement()
          .satisfies(line ->
              assertThat(line)
                  .contains(
                      "its lease has ended", "the agent that held it was lost", "within 2 s"));
    }
    pool.awaitFreeBytes(GPU_BYTES);
  }

  @Test
  void program_killedWhileItsAgentIsGone_leavesNothingAfterTheWindow(@TempDir Path folder) {
    try (Agent agent = Agent.start(pool, folder);
        Tenant alone = Tenant.of(alone(agent, "3s").start())) {
      agent.program().kill();
      agent.program().awaitEnd();
      alone.run().kill();
      pool.awaitIdle();
    }
    pool.awaitFreeBytes(GPU_BYTES);
  }

  /** An agent that ends by itself does not keep what its programs cannot come back to. */
  @Test
  void agent_endedBeneathAProgramWithoutAWindow_endsItsLease(@TempDir Path folder) {
    try (Agent agent = Agent.start(pool, folder);
        Tenant alone = Tenant.of(alone(agent, "0").start())) {
      agent.program().signal("TERM");
      assertThat(agent.program().awaitEnd(Duration.ofSeconds(20)).status()).isZero();
      pool.awaitIdle();
      assertThat(alone.ask("sync").getFirst()).isNotZero();
    }
    pool.awaitFreeBytes(GPU_BYTES);
  }

  /** A program on a lease that the agent makes for it. */
  private static Program.Builder alone(Agent agent, String window) {
    return agent
        .program(CPrograms.fixture("tenant"), Distribution.KERNELS)
        .with("GPUPOOL_RESUME_WINDOW", window);
  }

  /** A program on a lease of {@code gpupool run}, which uses the agent. */
  private static Program.Builder ofRun(Agent agent, String[] options) {
    Program.Builder run =
        Program.of(
                Distribution.gpupool(),
                "run",
                "-p",
                "0.25",
                "--resume-window",
                WINDOW,
                "--",
                CPrograms.fixture("tenant"),
                Distribution.KERNELS)
            .with("GPUPOOL_AGENT", agent.socket());
    return options.length == 2 ? run.with("GPUPOOL_TLS_CA", options[1]) : run;
  }
}
