// SPDX-License-Identifier: Apache-2.0
package io.gpupool.e2e;

import static io.gpupool.control.v1.GpuInfo.Health.HEALTH_HEALTHY;
import static io.gpupool.control.v1.GpuInfo.Health.HEALTH_UNHEALTHY;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.gpupool.control.v1.GpuInfo;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * A server of an NVIDIA driver's GPUs, on libraries that stand in for the driver's: faults, slices
 * of cards (MIG), sharing (MPS), what NVML shows of them.
 */
class NvidiaServerIT {
  private static final Path SOURCES = Distribution.ROOT.resolve("pool-server/worker/src/test/c");
  private static final String[] ONE = {"-n", "1"};
  private static final String FIRST = "GPU-74747474-7474-7474-7474-747474747400";
  private static final String SECOND = "GPU-74747474-7474-7474-7474-747474747401";
  private static final String FIRST_SLICE = "MIG-5c1ce000-0000-0000-0000-000000000001";
  private static final String SECOND_SLICE = "MIG-5c1ce000-0000-0000-0000-000000000002";

  @TempDir private Path folder;

  @Test
  void fault_ofTheGpu_takesItOutOfServiceAndSaysWhy() throws IOException {
    tell("gpu " + FIRST, "gpu " + SECOND);
    try (Pool pool = start(Map.of())) {
      assertThat(pool.gpus()).extracting(GpuInfo::getHealth).containsOnly(HEALTH_HEALTHY);

      // The first is of a program, and changes nothing.
      tell("fault " + SECOND + " 31", "fault " + FIRST + " 79");

      await()
          .atMost(Duration.ofSeconds(20))
          .untilAsserted(() ->
              assertThat(pool.gpus().getFirst().getProblem())
                  .isEqualTo("XID 79: the GPU has fallen off the bus"));
      assertThat(pool.gpus())
          .extracting(GpuInfo::getHealth)
          .containsExactly(HEALTH_UNHEALTHY, HEALTH_HEALTHY);
      assertThat(device(pool, ONE)).contains("device 0: Test GPU 1");
      assertThat(pool.run(new String[] {"-n", "2"}, "true").run().status()).isEqualTo(75);
      assertThat(pool.gpupool("health").output())
          .contains("XID 79: the GPU has fallen off the bus");
      assertThat(pool.gpupool("top").output()).contains("unhealthy");
    }
  }

  @Test
  void nvml_ofALease_tellsWhatTheCardMeasuresAndItsFaults() throws IOException {
    tell("gpu " + FIRST, "sensor " + FIRST + " power 71250", "sensor " + FIRST + " limit 700000");
    tell("sensor " + FIRST + " clock1 1965", "sensor " + FIRST + " errors1 0", "gpu " + SECOND);
    String[] both = {"-n", "2", "-p", "0.5"};
    try (Pool pool = start(Map.of());
        Program tool = pool.run(both, CPrograms.fixture("nvml"), Distribution.KERNELS).start()) {
      assertThat(ask(tool, "init")).startsWith("init 0 ").endsWith(" 2");
      await()
          .atMost(Duration.ofSeconds(20))
          .pollInSameThread()
          .untilAsserted(() ->
              assertThat(ask(tool, "sensors 0")).isEqualTo("sensors 41 71250 700000 -3 1965 0"));
      assertThat(ask(tool, "sensors 1")).isEqualTo("sensors 41 -3 -3 -3 -3 -3");
      assertThat(pool.gpupool("smi").output()).contains("  41C ", "71W / 700W");

      assertThat(ask(tool, "listen 0")).isEqualTo("listen 0");
      // One of a program, one of the other GPU, and the one that is listened for.
      tell("fault " + FIRST + " 31", "fault " + SECOND + " 94", "fault " + FIRST + " 79");
      assertThat(ask(tool, "event 20000")).isEqualTo("event 0 8 79");
      assertThat(ask(tool, "event 0")).isEqualTo("event 10 0 0");
    }
  }

  @Test
  void dividedCard_eachSlice_isAGpuOfItsOwn() throws IOException {
    tell(
        "gpu " + FIRST,
        "slice " + FIRST_SLICE + " 1",
        "slice " + SECOND_SLICE + " 2",
        "gpu " + SECOND);
    try (Pool pool = start(Map.of())) {
      assertThat(pool.gpus())
          .extracting(GpuInfo::getUuid)
          .containsExactly(FIRST_SLICE, SECOND_SLICE, SECOND);

      assertThat(device(pool, "--select", "uuid=" + SECOND_SLICE))
          .contains("device 0: Test GPU " + SECOND_SLICE);
      assertThat(device(pool, "--select", "uuid=" + SECOND))
          .contains("device 0: Test GPU " + SECOND);
      Program.Ended both =
          pool.run(new String[] {"-n", "2", "--select", "uuid=MIG-*"}, "true").run();
      assertThat(both.status()).isEqualTo(2);
      assertThat(both.errors()).contains("slices of cards (MIG), of which a program can use one");
    }
  }

  @Test
  void sharingByMps_workers_reachTheServersOwnDaemonWithTheirPartOfTheGpu() throws IOException {
    tell("gpu " + FIRST, "gpu " + SECOND);
    MpsDaemon daemon = MpsDaemon.in(folder);
    try (Pool pool = start(daemon.environment(), "--sharing", "mps")) {
      assertThat(device(pool, "-p", "0.3")).contains(", 30 % of threads");
    }
    List<String> said = daemon.said();
    assertThat(said).hasSize(3);
    assertThat(said.get(0)).startsWith("/tmp/gpupool-mps-").endsWith(" -d");
    assertThat(said.get(2)).isEqualTo("quit");
    assertThat(Path.of(said.get(0).split(" ")[0])).doesNotExist();
  }

  @Test
  void programsEnvironment_ofItsDriver_isThereWhenTheDriverStarts() throws IOException {
    tell("gpu " + FIRST);
    try (Pool pool = start(Map.of())) {
      String[] half = {"-p", "0.5"};
      assertThat(device(pool, half)).doesNotContain("connections");
      Program.Builder program =
          pool.run(half, CPrograms.fixture("devices")).with("CUDA_DEVICE_MAX_CONNECTIONS", "1");
      assertThat(program.run().output()).contains("device 0: Test GPU 0, 1 connections");
      Program.Builder other =
          pool.run(half, CPrograms.fixture("devices")).with("CUDA_DEVICE_MAX_CONNECTIONS", "4096");
      assertThat(other.run().output()).contains("device 0: Test GPU 0").doesNotContain(" conn");
    }
  }

  @Test
  void sharingByMps_withoutItsTools_isRefusedWithTheReason() throws IOException {
    tell("gpu " + FIRST);
    Program.Ended ended = Program.of(server("--sharing", "mps")).run();

    assertThat(ended.status()).isEqualTo(1);
    assertThat(ended.errors()).contains("--sharing mps:", "give --sharing timeslice");
  }

  @Test
  void driver_thatDoesNotStart_endsTheServerWhichServesNothingInItsPlace() {
    Program.Ended ended =
        Program.of(server("--worker-env", "TESTCUDA_INIT")).with("TESTCUDA_INIT", 999).run();

    assertThat(ended.status()).isEqualTo(1);
    assertThat(ended.errors())
        .contains("cuInit of the NVIDIA driver failed", "999", "nvidia-uvm", "--gpus soft:1");
    assertThat(ended.output()).doesNotContain("in software");
  }

  @Test
  void gpu_thatOneProcessAloneMayUse_endsTheServerWithTheReason() {
    Program.Ended ended =
        Program.of(server("--worker-env", "TESTCUDA_COMPUTE_MODE"))
            .with("TESTCUDA_COMPUTE_MODE", 3)
            .run();

    assertThat(ended.status()).isEqualTo(1);
    assertThat(ended.errors())
        .contains("GPU 0 is in compute mode Exclusive_Process", "--sharing mps");
  }

  @Test
  void driver_thatWaitsForAService_isServedOnceThatRuns() throws IOException {
    tell("gpu " + FIRST);
    Path result = Files.writeString(folder.resolve("init"), "802");
    try (Program server =
        Program.of(server("--worker-env", "TESTCUDA_INIT", "--spares", "0"))
            .with("TESTCUDA_INIT", result)
            .start()) {
      server.awaitErrorLine(line -> line.contains("802") && line.contains("trying again"));
      Files.writeString(result, "0");
      server.awaitLine(line -> line.contains("Test GPU 0"));
    }
  }

  private static List<String> server(String... options) {
    List<String> command = new ArrayList<>(List.of(Distribution.gpupool().toString(), "server"));
    command.addAll(List.of("--listen", "127.0.0.1", "--control-port", "0", "--data-port", "0"));
    command.add("--no-http");
    command.addAll(Arrays.asList(options));
    command.addAll(driver());
    return command;
  }

  private Pool start(Map<String, String> environment, String... options) {
    List<String> all = new ArrayList<>(driver());
    // The library that stands in for NVML is told by it where its GPUs are.
    all.addAll(List.of("--worker-env", "TESTNVML"));
    all.addAll(Arrays.asList(options));
    Map<String, String> variables = new TreeMap<>(environment);
    variables.put("TESTNVML", folder.resolve("gpus").toString());
    return Pool.startIn(variables, "all", all.toArray(String[]::new));
  }

  private static List<String> driver() {
    return List.of(
        "--libcuda", library("testcuda").toString(), "--libnvml", library("testnvml").toString());
  }

  private static Path library(String name) {
    return CPrograms.library(SOURCES.resolve(name), name);
  }

  /** What the driver tells of its GPUs from now on, too. */
  private void tell(String... lines) throws IOException {
    Files.write(
        folder.resolve("gpus"),
        List.of(lines),
        StandardOpenOption.CREATE,
        StandardOpenOption.APPEND);
  }

  private static String ask(Program tool, String command) {
    tool.send(command);
    return tool.awaitLine(line -> line.startsWith(command.split(" ")[0] + " "));
  }

  /** What a program says that its device is. */
  private static String device(Pool pool, String... share) {
    return pool.run(share, CPrograms.fixture("devices")).run().output();
  }
}
