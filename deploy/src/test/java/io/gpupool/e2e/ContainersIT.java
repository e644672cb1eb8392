// SPDX-License-Identifier: Apache-2.0
package io.gpupool.e2e;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assumptions.assumeThat;

import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.testcontainers.containers.BindMode;
import org.testcontainers.containers.GenericContainer;
import org.testcontainers.containers.startupcheck.OneShotStartupCheckStrategy;

/**
 * Containers of a real Docker engine, from an image that knows nothing of gpupool, with the options
 * that {@code gpupool container} prints and nothing else.
 */
class ContainersIT {
  private static final String ENGINE = "GPUPOOL_TEST_DOCKER";
  private static final long GPU_BYTES = 512L << 20;
  private static final long SHARE_BYTES = 192L << 20;
  private static final String SHARE = "192Mi";

  @TempDir private static Path folder;
  private static Pool pool;
  private static Agent agent;

  @BeforeAll
  static void makeImageAndStartPool() throws Exception {
    assumeThat(System.getenv(ENGINE))
        .as(
            "%s is not set: the address of a Docker engine to try containers on, such as"
                + " unix:///var/run/docker.sock",
            ENGINE)
        .isNotNull();
    Program.Ended made =
        Program.of("docker", "import", Containers.pack(folder), Containers.IMAGE).run();
    assertThat(made.status()).as(made.toString()).isZero();
    pool = Pool.start("soft:1,mem=512Mi");
    // A folder that the agent makes, as anywhere: JUnit's own can be entered by its owner alone.
    agent = Agent.start(pool, folder.resolve("agent"), "--any-user");
  }

  @AfterAll
  static void stopPool() {
    if (agent != null) {
      agent.close();
    }
    if (pool != null) {
      pool.close();
    }
  }

  @AfterEach
  void nothingIsLeft() {
    pool.awaitIdle();
  }

  @Test
  void container_ofAnUnmodifiedImage_trains() {
    try (GenericContainer<?> container = container("-p", "0.5")) {
      container
          .withCommand(Containers.training().toArray(String[]::new))
          .withStartupCheckStrategy(
              new OneShotStartupCheckStrategy().withTimeout(Duration.ofMinutes(3)));
      container.start();
      assertThat(container.getLogs()).contains(": OK").doesNotContain("gpupool:");
    }
  }

  @Test
  void container_ofAUserWithNoRightsAndNoNetwork_isServed() {
    List<String> options = Containers.options(agent, "-m", SHARE);
    Program.Ended ended =
        docker(
                List.of(
                    "run --rm --network none --read-only --user 4321:4321 --cap-drop ALL"
                        + " --security-opt no-new-privileges"),
                options,
                List.of("/bin/sh", "-c", "id -u; exec vector_add " + Containers.KERNELS))
            .run();
    assertThat(ended.output()).as(ended.toString()).startsWith("4321").contains("192 MiB", ": OK");
    assertThat(ended.errors()).isEmpty();
  }

  @Test
  void container_ofAProgramOfNccl_hasGpupoolsLibrary() {
    String training = "data_parallel --ranks 1 --kernels " + Containers.NCCL_KERNELS;
    Program.Ended ended =
        docker(
                List.of("run --rm --network none"),
                Containers.options(agent, "-m", SHARE),
                List.of(training.split(" ")))
            .run();
    assertThat(ended.output()).as(ended.toString()).contains("data_parallel: OK");
    assertThat(ended.errors()).isEmpty();
  }

  @Test
  void containers_twoOnOneGpu_keepWithinTheirLimits() {
    try (Tenant one = tenant();
        Tenant two = tenant()) {
      assertThat(one.ask("info").getFirst()).isEqualTo(SHARE_BYTES);
      assertThat(pool.leases())
          .hasSize(2)
          .extracting(lease -> lease.getHolder().getProgram())
          .containsOnly("tenant");
      one.ask("steady");
      assertThat(two.ask("alloc " + (160 << 20))).containsExactly(0L);
      assertThat(two.ask("alloc " + (64 << 20))).as("out of memory").containsExactly(2L);
      two.assertWorks();
      // What the other has left is no more than before.
      assertThat(one.ask("alloc " + (160 << 20))).containsExactly(0L);
      assertThat(one.ask("alloc " + (64 << 20))).as("out of memory").containsExactly(2L);
      one.assertWorkedSteadily();
      assertThat(two.ask("free")).containsExactly(0L);
      assertThat(two.ask("fault").getFirst()).as("its own fault").isNotZero();
      one.assertWorks();
      assertThat(pool.freeBytes()).isEqualTo(GPU_BYTES - 2 * SHARE_BYTES);
    }
  }

  @Test
  void container_killed_leavesNoLease() {
    try (GenericContainer<?> container = container("-m", SHARE);
        Tenant other = tenant()) {
      container.withCommand("/bin/sh", "-c", "sleep 600 | tenant " + Containers.KERNELS).start();
      await(2);
      other.ask("steady");
      container.getDockerClient().killContainerCmd(container.getContainerId()).exec();
      pool.awaitFreeBytes(GPU_BYTES - SHARE_BYTES);
      other.assertWorkedSteadily();
    }
  }

  @Test
  void container_whoseAgentIsStartedAnew_goesOnWithTheNewOne(@TempDir Path agents)
      throws Exception {
    Agent first = Agent.start(pool, agents, "--any-user");
    try (GenericContainer<?> container = container(first, "-m", SHARE)) {
      container.withCommand("sleep", "600").start();
      String[] add = {"vector_add", Containers.KERNELS.toString()};
      assertThat(container.execInContainer(add).getStdout()).contains(": OK");
      first.close();
      GenericContainer.ExecResult without = container.execInContainer(add);
      assertThat(without.getExitCode()).isEqualTo(1);
      assertThat(without.getStderr()).contains("no agent at /run/gpupool/agent.sock");
      try (Agent second = Agent.start(pool, agents, "--any-user")) {
        assertThat(container.execInContainer(add).getStdout())
            .as(second.program().errors())
            .contains(": OK");
      }
    } finally {
      first.close();
    }
  }

  @Test
  void container_ofAnEngineWithCdi_isServedByTheDevicesName(@TempDir Path work) throws Exception {
    assumeThat(Program.of("sh", "-c", "command -v podman").run().status())
        .as("podman is not installed (apt-get install podman)")
        .isZero();
    Path devices = Path.of("/var/run/cdi");
    assumeThat(Files.isWritable(devices.getParent())).as("%s can be written", devices).isTrue();
    String device = "test-" + ProcessHandle.current().pid();
    Path file = devices.resolve("gpupool-" + device + ".json");
    try {
      Program.Ended written =
          Containers.gpupool(
              agent, "cdi", "-m", SHARE, "--device", device, "--file", file.toString());
      assertThat(written.output()).isEqualTo(file + ": gpupool.io/gpu=" + device + "\n");
      assertThat(podman(work, "import", folder.resolve("root.tar").toString(), Containers.IMAGE))
          .satisfies(ended -> assertThat(ended.status()).as(ended.toString()).isZero());
      List<String> command = new ArrayList<>();
      // Its own limits are more than this machine may have.
      command.addAll(List.of("--runtime", "runc", "run", "--rm", "--network", "none"));
      command.addAll(List.of("--ulimit", "nofile=1024:1024", "--ulimit", "nproc=16384:16384"));
      command.addAll(List.of("--device", "gpupool.io/gpu=" + device, Containers.IMAGE));
      command.addAll(List.of("vector_add", Containers.KERNELS.toString()));
      Program.Ended ended = podman(work, command.toArray(String[]::new));
      assertThat(ended.output()).as(ended.toString()).contains("192 MiB", ": OK");
    } finally {
      Files.deleteIfExists(file);
      podman(work, "rmi", "--all", "--force");
    }
  }

  private static Tenant tenant() {
    return Tenant.of(
        docker(
                List.of("run --rm -i"),
                Containers.options(agent, "-m", SHARE),
                List.of("tenant", Containers.KERNELS.toString()))
            .start());
  }

  private static void await(int leases) {
    Awaitility.await().atMost(Duration.ofSeconds(30)).until(() -> pool.leases().size() == leases);
  }

  private static GenericContainer<?> container(String... share) {
    return container(agent, share);
  }

  /** With the printed options, said to Testcontainers. */
  private static GenericContainer<?> container(Agent agent, String... share) {
    GenericContainer<?> container = new GenericContainer<>(Containers.IMAGE);
    Iterator<String> words = Containers.options(agent, share).iterator();
    while (words.hasNext()) {
      String option = words.next();
      String[] value = words.next().split(option.equals("-v") ? ":" : "=", 3);
      if (option.equals("-v")) {
        assertThat(value[2]).isEqualTo("ro");
        container.withFileSystemBind(value[0], value[1], BindMode.READ_ONLY);
      } else {
        assertThat(option).isEqualTo("-e");
        container.withEnv(value[0], value[1]);
      }
    }
    return container;
  }

  /** With the printed options as they are. */
  private static Program.Builder docker(
      List<String> run, List<String> options, List<String> command) {
    List<String> line = new ArrayList<>(List.of("docker"));
    run.forEach(words -> line.addAll(List.of(words.split(" "))));
    line.addAll(options);
    line.add(Containers.IMAGE);
    line.addAll(command);
    return Program.of(line);
  }

  private static Program.Ended podman(Path work, String... command) {
    List<String> line = new ArrayList<>(List.of("podman", "--cgroup-manager", "cgroupfs"));
    line.addAll(List.of("--root", work + "/root", "--runroot", work + "/run"));
    line.addAll(List.of("--events-backend", "file"));
    line.addAll(List.of(command));
    return Program.of(line).run();
  }
}
