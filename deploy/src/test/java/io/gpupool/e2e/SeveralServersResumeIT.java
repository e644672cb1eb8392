// SPDX-License-Identifier: Apache-2.0
package io.gpupool.e2e;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.gpupool.server.state.etcd.Etcd;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/**
 * Programs with GPUs of two servers whose connections break at random bytes: those of the program
 * to the first server, and those of the second server's worker to the first's.
 */
class SeveralServersResumeIT {
  private static final int CUTS = 6;
  private static final long POOL_BYTES = 2L << 30;
  private static final Duration LIMIT = Duration.ofMinutes(2);

  private static final int MOST_MILLIS = 1000;

  @TempDir static Path folder;
  private static final List<Pool> servers = new ArrayList<>();
  private static Etcd etcd;
  private static CutProxy control;
  private static CutProxy streams;

  @BeforeAll
  static void start() throws Exception {
    etcd = Etcd.start(folder, 1);
    servers.add(server("s0", CutProxy.HOST));
    control = CutProxy.start(servers.getFirst().controlPort());
    streams = CutProxy.start(servers.getFirst().dataPort());
    servers.add(server("s1", "127.0.0.1"));
    awaitAllFree();
  }

  @AfterAll
  static void stop() throws Exception {
    if (streams != null) {
      streams.close();
      control.close();
    }
    servers.forEach(Pool::close);
    if (etcd != null) {
      etcd.close();
    }
  }

  private static Pool server(String name, String host) {
    return Pool.start(
        "soft:1,mem=1Gi", "--name", name, "--host", host, "--state", etcd.url("resume"));
  }

  private static void awaitAllFree() {
    await().atMost(LIMIT).until(() -> servers.getFirst().freeBytes() == POOL_BYTES);
  }

  @ParameterizedTest
  @CsvSource({"far_copies,1", "several_gpus,3"})
  void program_whoseServersLoseEachOther_givesItsResults(String name, long seed) {
    Path program = CudaPrograms.make(name);
    CutPlan whole = CutPlan.none();
    streams.follow(whole);
    Program.Ended expected = run(program);
    assertThat(expected.status()).as(expected.toString()).isZero();
    awaitAllFree();
    CutPlan plan = CutPlan.random(seed, Fault.RESET, CUTS, whole.relayed(), MOST_MILLIS);
    streams.follow(plan);
    Program.Ended ended = run(program);
    assertThat(ended.status()).as(ended.toString()).isZero();
    assertThat(ended.output()).isEqualTo(expected.output());
    assertThat(plan.done()).as("cuts, of " + plan.relayed() + " bytes").isPositive();
    awaitAllFree();
    assertThat(servers.getFirst().sessions()).isEmpty();
  }

  private static Program.Ended run(Path program) {
    return Program.of(
            Distribution.gpupool().toString(),
            "run",
            "--pool",
            CutProxy.HOST + ":" + servers.getFirst().controlPort(),
            "-n",
            "2",
            "--resume-window",
            "60s",
            "--",
            program.toString())
        .run(LIMIT);
  }
}
