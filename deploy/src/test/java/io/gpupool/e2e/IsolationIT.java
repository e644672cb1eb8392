// SPDX-License-Identifier: Apache-2.0
package io.gpupool.e2e;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.gpupool.control.v1.LeaseInfo;
import io.gpupool.control.v1.SessionInfo;
import java.time.Duration;
import java.util.List;
import java.util.function.BiConsumer;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;

/** Two tenants on the halves of one GPU: what one does or suffers is nothing to the other. */
class IsolationIT {
  private static final long GPU_BYTES = 1L << 30;
  private static final long HALF_BYTES = GPU_BYTES / 2;
  private static final String[] HALF = {"-p", "0.5"};
  private static final Duration WINDOW = Duration.ofSeconds(3);
  private static final long OUT_OF_MEMORY = 2;
  private static final long ILLEGAL_ADDRESS = 700;

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

  @AfterEach
  void nothingIsLeft() {
    pool.awaitIdle();
  }

  @Test
  void halves_twoAtOnce_eachSeesAndGetsItsOwnMemoryOnly() {
    try (Tenant one = Tenant.start(pool, HALF);
        Tenant other = Tenant.start(pool, HALF)) {
      assertThat(one.ask("info").getFirst()).isEqualTo(HALF_BYTES);
      assertThat(other.ask("info").getFirst()).isEqualTo(HALF_BYTES);
      assertThat(one.ask("alloc " + HALF_BYTES)).containsExactly(OUT_OF_MEMORY);
      assertThat(one.ask("alloc " + (HALF_BYTES - (16 << 20)))).containsExactly(0L);
      assertThat(one.ask("alloc " + (16 << 20))).containsExactly(OUT_OF_MEMORY);
      // The other has its whole half, whatever the first one holds.
      assertThat(other.ask("alloc " + (HALF_BYTES - (16 << 20)))).containsExactly(0L);
      assertThat(other.ask("alloc " + (16 << 20))).containsExactly(OUT_OF_MEMORY);
      assertThat(one.ask("free")).containsExactly(0L);
      assertThat(one.ask("alloc " + (256 << 20))).containsExactly(0L);
      one.assertWorks();
      other.assertWorks();
    }
  }

  @Test
  void halves_twoAtOnce_thirdIsRefusedWithTheReason() {
    try (Tenant one = Tenant.start(pool, HALF);
        Tenant other = Tenant.start(pool, HALF)) {
      Program.Ended third = pool.run(new String[] {"-p", "0.1"}, "true").run();
      assertThat(third.status()).isNotZero();
      assertThat(third.errors()).containsIgnoringCase("refused").contains("free");
      one.assertWorks();
      other.assertWorks();
    }
  }

  static Stream<Arguments> endings() {
    return Stream.of(
        ending("returns from main", (tenant, pid) -> tenant.run().endInput()),
        ending("exits in the middle", (tenant, pid) -> tenant.tell("exit 3")),
        ending("leaves without cleaning up", (tenant, pid) -> tenant.tell("leave 3")),
        ending("segmentation fault", (tenant, pid) -> tenant.tell("segv")),
        ending("SIGKILL", (tenant, pid) -> Signals.send("KILL", pid.toString())),
        ending(
            "its worker is killed",
            (tenant, pid) -> {
              long worker = pool.sessionOf(pid).getWorkerPid();
              Signals.send("KILL", Long.toString(worker));
              assertThat(tenant.ask("sync").getFirst()).isNotZero();
              tenant.tell("leave 0");
            }));
  }

  private static Arguments ending(String name, BiConsumer<Tenant, Long> how) {
    return Arguments.argumentSet(name, how);
  }

  @ParameterizedTest
  @MethodSource("endings")
  void ending_anyWay_freesTheFractionAndTheOtherNeverNotices(BiConsumer<Tenant, Long> how) {
    assertEnding(HALF, how);
  }

  /**
   * With a resume window, the lease would be kept: the connection to its holder may have broken.
   */
  @Test
  void ending_runIsKilledAndNoResumeWindow_freesTheFractionAndTheOtherNeverNotices() {
    assertEnding(
        new String[] {"-p", "0.5", "--resume-window", "0"}, (tenant, pid) -> tenant.run().kill());
  }

  @Test
  void ending_runIsKilled_keepsTheFractionForTheResumeWindowAndNoLonger() {
    try (Tenant one = Tenant.start(pool, "-p", "0.5", "--resume-window", WINDOW.toSeconds() + "s");
        Tenant other = Tenant.start(pool, HALF)) {
      other.ask("steady");
      long pid = one.pid();
      long killedNanos = System.nanoTime();
      one.run().kill();
      await()
          .atMost(WINDOW)
          .until(() -> pool.sessionOf(pid).getState() == SessionInfo.State.STATE_DISCONNECTED);
      assertThat(pool.freeBytes()).isZero();
      await()
          .atMost(WINDOW.plus(Pool.CLEAN))
          .pollInterval(Duration.ofMillis(20))
          .until(() -> pool.freeBytes() == HALF_BYTES);
      Duration kept = Duration.ofNanos(System.nanoTime() - killedNanos);
      assertThat(kept).isBetween(WINDOW, WINDOW.plus(Pool.CLEAN));
      other.assertWorkedSteadily();
    }
  }

  @Test
  void ending_runIsKilled_keepsTheFractionUntilSomeoneReleasesTheLease() {
    try (Tenant one = Tenant.start(pool, HALF)) {
      one.run().kill();
      await().until(() -> pool.leases().getFirst().getState() == LeaseInfo.State.STATE_GRACE);
      assertThat(pool.leases().getFirst().getResumeWindowMillis()).isEqualTo(60_000);
      assertThat(pool.gpupool("lease", "release", pool.leases().getFirst().getId()).status())
          .isZero();
      pool.awaitFreeBytes(GPU_BYTES);
    }
  }

  private static void assertEnding(String[] options, BiConsumer<Tenant, Long> how) {
    try (Tenant one = Tenant.start(pool, options);
        Tenant other = Tenant.start(pool, HALF)) {
      other.ask("steady");
      one.ask("alloc " + (64 << 20));
      one.ask("spin 1000000000");
      assertThat(pool.freeBytes()).isZero();
      how.accept(one, one.pid());
      pool.awaitFreeBytes(HALF_BYTES);
      other.assertWorkedSteadily();
      other.assertWorks();
    }
    pool.awaitFreeBytes(GPU_BYTES);
  }

  @Test
  void illegalAddress_ofOneTenant_staysWithIt() {
    try (Tenant one = Tenant.start(pool, HALF);
        Tenant other = Tenant.start(pool, HALF)) {
      other.ask("steady");
      assertThat(one.ask("fault")).containsExactly(ILLEGAL_ADDRESS);
      assertThat(one.ask("work 1")).containsExactly(ILLEGAL_ADDRESS);
      assertThat(one.ask("alloc 64")).containsExactly(ILLEGAL_ADDRESS);
      assertThat(one.ask("sync")).containsExactly(ILLEGAL_ADDRESS);
      other.assertWorkedSteadily();
      other.assertWorks();
    }
    pool.awaitFreeBytes(GPU_BYTES);
    Program.Ended alone =
        pool.run(HALF, CPrograms.example("illegal_address"), Distribution.KERNELS).run();
    assertThat(alone.output()).as(alone.toString()).contains("illegal_address: OK");
  }

  @Test
  void lease_twoProgramsInIt_shareItsMemory() {
    String script =
        "cd \"$(mktemp -d)\"; mkfifo hold; \"$1\" \"$2\" <hold >one & exec 3>hold; "
            + "echo alloc 314572800 >&3; until grep -q alloc one; do sleep 0.05; done; "
            + "echo alloc 314572800 | \"$1\" \"$2\" >two; exec 3>&-; wait; cat one two; rm -r \"$PWD\"";
    Program.Ended ended =
        pool.run(HALF, "sh", "-c", script, "sh", CPrograms.fixture("tenant"), Distribution.KERNELS)
            .run();
    List<String> answers = ended.output().lines().filter(line -> line.startsWith("alloc")).toList();
    assertThat(answers)
        .as("300 MiB twice, of 512 MiB: %s", ended)
        .containsExactly("alloc 0", "alloc " + OUT_OF_MEMORY);
  }
}
