// SPDX-License-Identifier: Apache-2.0
package io.gpupool.e2e;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.gpupool.control.v1.SessionInfo;
import io.gpupool.server.state.etcd.Etcd;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** A server whose machine a cloud takes away, with programs on it. */
class SpotNoticeIT {
  private static final long GPU_BYTES = 1L << 30;
  private static final Duration LIMIT = Duration.ofMinutes(3);

  @TempDir static Path folder;
  private static Etcd etcd;
  private static Pool staying;

  @BeforeAll
  static void start() throws Exception {
    etcd = Etcd.start(folder, 1);
    staying =
        Pool.start("soft:1,mem=1Gi", "--name", "stays", "--host", "127.0.0.1", "--state", state());
  }

  @AfterAll
  static void stop() {
    if (staying != null) {
      staying.close();
    }
    if (etcd != null) {
      etcd.close();
    }
  }

  private static String state() {
    return etcd.url("spot");
  }

  /** Starts a server of a spot machine that is told to end by its notice alone. */
  private static Pool spot(String cloud, SpotMetadata metadata) {
    return Pool.start("soft:1,mem=1Gi", options(cloud, metadata));
  }

  private static String[] options(String cloud, SpotMetadata metadata) {
    return List.of(
            "--name",
            cloud,
            "--host",
            "127.0.0.1",
            "--state",
            state(),
            "--run-dir",
            folder.resolve(cloud).toString(),
            "--spot-notice",
            cloud,
            "--spot-notice-url",
            metadata.url(),
            "--drain-move")
        .toArray(String[]::new);
  }

  private static Program program(String server, String memory) {
    return staying
        .run(
            new String[] {"-m", memory, "--select", "server=" + server},
            CPrograms.fixture("resumed"),
            Distribution.KERNELS,
            "until-end-of-input")
        .start();
  }

  private static void awaitComputing(int programs) {
    await()
        .atMost(LIMIT)
        .untilAsserted(() ->
            assertThat(staying.sessions())
                .hasSize(programs)
                .allSatisfy(session -> {
                  assertThat(session.getState()).isEqualTo(SessionInfo.State.STATE_ATTACHED);
                  assertThat(session.getCalls()).isPositive();
                }));
  }

  @Test
  void notice_roomElsewhere_programsMoveAndTheServerEnds() throws IOException {
    String cloud = "aws";
    try (SpotMetadata metadata = new SpotMetadata();
        Pool going = spot(cloud, metadata);
        Program first = program(cloud, "256Mi");
        Program second = program(cloud, "128Mi")) {
      awaitComputing(2);
      metadata.announce(Duration.ofMinutes(2));
      Program.Ended ended = going.server().awaitEnd(LIMIT);
      assertThat(ended.status()).as(ended.toString()).isZero();
      assertThat(ended.errors())
          .contains("has announced the", "this machine is about to go")
          .containsPattern("lease L[0-9]+ has moved to stays/0")
          .doesNotContain("leases are left");
      awaitComputing(2);
      assertThat(staying.leases())
          .hasSize(2)
          .allSatisfy(
              lease -> assertThat(lease.getGrants(0).getGrant().getServer()).isEqualTo("stays"));
      requireNoStart(cloud, metadata);
      for (Program program : List.of(first, second)) {
        program.endInput();
        Program.Ended result = program.awaitEnd(LIMIT);
        assertThat(result.status()).as(result.toString()).isZero();
        assertThat(result.output()).contains("resumed: OK");
      }
    }
    await().atMost(LIMIT).until(() -> staying.freeBytes() == GPU_BYTES);
  }

  @ParameterizedTest
  @ValueSource(strings = {"gcp", "azure"})
  void notice_ofAnotherCloud_endsTheServer(String cloud) throws IOException {
    try (SpotMetadata metadata = new SpotMetadata();
        Pool going = spot(cloud, metadata)) {
      metadata.announce(Duration.ofMinutes(2));
      Program.Ended ended = going.server().awaitEnd(LIMIT);
      assertThat(ended.status()).as(ended.toString()).isZero();
      assertThat(ended.errors()).contains("has announced the", "this machine is about to go");
      requireNoStart(cloud, metadata);
    }
  }

  private static void requireNoStart(String cloud, SpotMetadata metadata) {
    Program.Ended again = Pool.command(0, "soft:1", options(cloud, metadata)).run();
    assertThat(again.status()).as(again.toString()).isNotZero();
    assertThat(again.errors()).contains("has announced the", "no server is started on it");
  }

  @Test
  void notice_noRoomElsewhere_leaseEndsBeforeTheMachineAndTheProgramIsTold() throws IOException {
    Duration ahead = Duration.ofSeconds(12);
    try (SpotMetadata metadata = new SpotMetadata();
        Pool going = spot("aws", metadata);
        Program program = program("aws", "256Mi");
        Program holder =
            staying.run(new String[] {"-p", "1", "--select", "server=stays"}, "cat").start()) {
      holder.send("holds its GPU");
      holder.awaitLine("holds its GPU"::equals);
      awaitComputing(1);
      long beginNanos = System.nanoTime();
      metadata.announce(ahead);
      Program.Ended told = program.awaitEnd(LIMIT);
      assertThat(Duration.ofNanos(System.nanoTime() - beginNanos)).isLessThan(ahead);
      assertThat(told.status()).as(told.toString()).isNotZero();
      assertThat(told.errors()).contains("server aws is drained", "and time is up");
      Program.Ended ended = going.server().awaitEnd(LIMIT);
      assertThat(ended.status()).as(ended.toString()).isZero();
      assertThat(ended.errors()).contains("time was up: largest free fraction is ");
    }
    await().atMost(LIMIT).until(() -> staying.freeBytes() == GPU_BYTES);
  }

  @Test
  void metadataService_isAbsent_serverSaysSoAndServes() throws IOException {
    SpotMetadata metadata = new SpotMetadata();
    metadata.close();
    try (Pool pool = spot("azure", metadata)) {
      assertThat(pool.server().errors())
          .contains("notices of the cloud cannot be read yet: " + metadata.url())
          .contains("cannot be reached");
      Program.Ended ended = pool.gpupool("list");
      assertThat(ended.output()).contains("azure/0");
    }
    await().atMost(LIMIT).until(() -> staying.freeBytes() == GPU_BYTES);
  }
}
