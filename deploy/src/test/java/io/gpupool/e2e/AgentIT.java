// SPDX-License-Identifier: Apache-2.0
package io.gpupool.e2e;

import static io.gpupool.control.v1.LeaseClass.LEASE_CLASS_LATENCY;
import static org.assertj.core.api.Assertions.assertThat;

import io.gpupool.control.v1.LeaseInfo;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.StandardProtocolFamily;
import java.net.UnixDomainSocketAddress;
import java.nio.ByteBuffer;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;
import java.nio.file.Path;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Programs without {@code gpupool run}: only the shim on the library path, and an agent. */
class AgentIT {
  private static final long GPU_BYTES = 1L << 30;

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

  @Test
  void program_withLibraryPathOnly_isServedByTheAgent(@TempDir Path folder) {
    try (Agent agent = Agent.start(pool, folder)) {
      Program.Ended ended =
          agent.program(CPrograms.example("vector_add"), Distribution.KERNELS).run();
      assertThat(ended.output()).as(ended.toString()).contains("512 MiB").contains("OK");
      pool.awaitFreeBytes(GPU_BYTES);
    }
  }

  @Test
  void program_ofAClass_hasALeaseOfItOrIsRefused(@TempDir Path folder) {
    try (Agent agent = Agent.start(pool, folder)) {
      try (Program serving =
          agent.program(Distribution.LOAD, "kernels").with("GPUPOOL_CLASS", "latency").start()) {
        serving.send("how much?");
        serving.awaitLine(line -> line.startsWith("load kernels"));
        assertThat(pool.leases())
            .extracting(LeaseInfo::getClass_)
            .containsExactly(LEASE_CLASS_LATENCY);
      }
      Program.Ended refused =
          agent
              .program(CPrograms.example("vector_add"), Distribution.KERNELS)
              .with("GPUPOOL_CLASS", "gold")
              .run();
      assertThat(refused.status()).isNotZero();
      assertThat(refused.errors()).contains("no class 'gold' of leases; give batch or latency");
      pool.awaitFreeBytes(GPU_BYTES);
    }
  }

  @Test
  void run_besideAnAgent_connectsThroughItToItsPool(@TempDir Path folder) {
    try (Agent agent = Agent.start(pool, folder)) {
      Program.Ended ended =
          Program.of(
                  Distribution.gpupool(),
                  "run",
                  "-p",
                  "0.25",
                  "--",
                  "sh",
                  "-c",
                  "echo agent $GPUPOOL_AGENT; exec \"$@\"",
                  "sh",
                  CPrograms.example("vector_add"),
                  Distribution.KERNELS)
              .with("GPUPOOL_AGENT", agent.socket())
              .run();
      assertThat(ended.output())
          .as(ended.toString())
          .contains("agent " + agent.socket(), "256 MiB", "OK");
      assertThat(ended.errors()).isEmpty();
      pool.awaitFreeBytes(GPU_BYTES);
    }
  }

  @ParameterizedTest
  @ValueSource(ints = {0, 1})
  void run_besideAnAgentThatGivesNoAnswer_failsInsteadOfTakingOtherGpus(
      int bytesRead, @TempDir Path folder) throws IOException, InterruptedException {
    Path socket = folder.resolve("agent.sock");
    try (ServerSocketChannel server = ServerSocketChannel.open(StandardProtocolFamily.UNIX)) {
      server.bind(UnixDomainSocketAddress.of(socket));
      Thread closing = Thread.startVirtualThread(() -> acceptAndClose(server, bytesRead));
      Program.Ended ended =
          Program.of(Distribution.gpupool(), "run", "--", "true")
              .with("GPUPOOL_AGENT", socket)
              .run();
      assertThat(ended.status()).isEqualTo(69);
      assertThat(ended.errors()).contains(socket.toString(), "without an answer", "--pool");
      closing.join();
    }
  }

  /** A connection that is closed with part of the question unread is reset for the other side. */
  private static void acceptAndClose(ServerSocketChannel server, int bytesRead) {
    try (SocketChannel connection = server.accept()) {
      int ignored = connection.read(ByteBuffer.allocate(bytesRead));
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  @Test
  void agent_killed_freesWhatItsProgramsHeld(@TempDir Path folder) {
    try (Agent agent = Agent.start(pool, folder);
        Tenant tenant =
            Tenant.of(
                agent
                    .program(CPrograms.fixture("tenant"), Distribution.KERNELS)
                    .with("GPUPOOL_RESUME_WINDOW", "0")
                    .start());
        Tenant other = Tenant.start(pool, "-p", "0.5")) {
      other.ask("steady");
      agent.program().kill();
      pool.awaitFreeBytes(GPU_BYTES / 2);
      assertThat(tenant.ask("sync").getFirst()).isNotZero();
      other.assertWorkedSteadily();
    }
    pool.awaitFreeBytes(GPU_BYTES);
  }

  @Test
  void program_withoutAgent_failsWithCauseAndNextStep(@TempDir Path folder) {
    Program.Ended ended =
        Program.of(CPrograms.example("vector_add"), Distribution.KERNELS)
            .with("LD_LIBRARY_PATH", Distribution.SHIM)
            .with("GPUPOOL_AGENT", folder.resolve("none.sock"))
            .run();
    assertThat(ended.status()).isEqualTo(1);
    assertThat(ended.output()).contains("cuInit");
    assertThat(ended.errors().lines())
        .singleElement()
        .satisfies(line -> assertThat(line).contains("none.sock").contains("gpupool run"));
  }

  @Test
  void top_whileALeaseIsHeld_showsWhoHoldsWhat() {
    try (Tenant tenant = Tenant.start(pool, "-p", "0.5")) {
      Program.Ended table = pool.gpupool("top", "-d");
      assertThat(table.output()).as(table.toString()).contains("tenant").contains("512");
      Program.Ended json = pool.gpupool("list", "--output", "json");
      assertThat(json.output())
          .as(json.toString())
          .contains(Long.toString(tenant.pid()))
          .contains(Long.toString(GPU_BYTES / 2));
      tenant.assertWorks();
    }
  }
}
