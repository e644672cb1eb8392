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
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Programs whose leases move between the modelled NVIDIA GPUs of servers while they run. */
class ModelMoveIT {
  private static final long GPU_BYTES = 1L << 30;
  private static final int GPUS = 4;
  private static final Duration LIMIT = Duration.ofMinutes(2);

  @TempDir static Path folder;
  private static final List<ModelGpu> servers = new ArrayList<>();
  private static Etcd etcd;

  @BeforeAll
  static void start() throws Exception {
    etcd = Etcd.start(folder, 1);
    servers.add(start("m0", "gpus=2,mem=1Gi,context=64Mi", "--movable"));
    servers.add(start("m1", "mem=1Gi,context=64Mi", "--movable"));
    servers.add(start("fixed", "mem=1Gi,context=64Mi"));
    awaitAllFree();
  }

  private static ModelGpu start(String name, String model, String... options) {
    List<String> all = new ArrayList<>(List.of(options));
    all.addAll(List.of("--name", name, "--host", "127.0.0.1", "--state", etcd.url("models")));
    return ModelGpu.start(model, all.toArray(String[]::new));
  }

  @AfterAll
  static void stop() {
    servers.forEach(ModelGpu::close);
    if (etcd != null) {
      etcd.close();
    }
  }

  @AfterEach
  void awaitEnd() {
    awaitAllFree();
  }

  private static Pool pool() {
    return servers.getFirst().pool();
  }

  private static void awaitAllFree() {
    await().atMost(LIMIT).until(() -> pool().freeBytes() == GPUS * GPU_BYTES);
  }

  private static Program copies(String server, Object... more) {
    List<Object> command = new ArrayList<>(List.of(CPrograms.fixture("moving_copies")));
    command.add("until-end-of-input");
    command.addAll(List.of(more));
    return pool()
        .run(new String[] {"-m", "512Mi", "--select", "server=" + server}, command.toArray())
        .start();
  }

  private static Program.Ended move(String to) {
    return pool().gpupool("lease", "move", pool().leases().getFirst().getId(), "--to", to);
  }

  private static void requireOk(Program program) {
    program.endInput();
    Program.Ended ended = program.awaitEnd(LIMIT);
    assertThat(ended.status()).as(ended.toString()).isZero();
    assertThat(ended.output()).contains("moving_copies: OK");
  }

  @Test
  void program_whoseLeaseMovesBetweenServersAndCards_findsEachByteAgain() {
    try (Program program = copies("m0")) {
      pool().awaitWorkingAt("m0", 0, 100);
      for (String to : List.of("m1/0", "m0/1", "m0/0")) {
        Program.Ended moved = move(to);
        assertThat(moved.status()).as(moved.toString()).isZero();
        assertThat(moved.output()).contains(to).contains(" ms");
        pool().awaitWorkingAt(to.substring(0, 2), Integer.parseInt(to.substring(3)), 100);
      }
      requireOk(program);
    }
  }

  @Test
  void program_withMemoryOfAPool_goesOnWhereItIs() {
    try (Program program = copies("m0", "pool")) {
      pool().awaitWorkingAt("m0", 0, 100);
      Program.Ended refused = move("m1");
      assertThat(refused.status()).isNotZero();
      assertThat(refused.errors() + refused.output()).contains("memory from a pool");
      pool().awaitWorkingAt("m0", 0, 100);
      requireOk(program);
    }
  }

  @Test
  void program_onAServerWithoutTheOption_goesOnWhereItIs() {
    try (Program program = copies("fixed")) {
      pool().awaitWorkingAt("fixed", 0, 100);
      Program.Ended refused = move("m1");
      assertThat(refused.status()).isNotZero();
      assertThat(refused.errors())
          .contains("fixed has NVIDIA GPUs and was started without --movable");
      requireOk(program);
    }
  }
}
