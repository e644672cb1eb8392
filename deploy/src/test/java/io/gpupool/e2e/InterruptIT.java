// SPDX-License-Identifier: Apache-2.0
package io.gpupool.e2e;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.RepeatedTest;
import org.junit.jupiter.api.Test;

/**
 * Commands that are interrupted before, at and after the moment at which the pool grants their
 * leases: the lease is not kept for its resume window.
 */
class InterruptIT {
  private static final String[] WISH = {"-p", "0.5", "--resume-window", "10m"};
  private static final int INTERRUPTED = 128 + 2;

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

  @RepeatedTest(4)
  void leaseRequest_interruptedAtTheGrant_leavesNoLease() {
    try (Program request = leaseRequest().start()) {
      interruptAtTheGrant(request);
      assertThat(request.awaitEnd().status()).as(request.report()).isEqualTo(INTERRUPTED);
    }
    awaitNoLease();
  }

  @RepeatedTest(4)
  void run_interruptedAtTheGrant_leavesNoLease() {
    try (Program run = pool.run(WISH, "sleep", "60").start()) {
      interruptAtTheGrant(run);
      assertThat(run.awaitEnd().status()).as(run.report()).isEqualTo(INTERRUPTED);
    }
    awaitNoLease();
  }

  @Test
  void leaseRequest_interruptedWhileItHoldsTheLease_leavesNoLease() {
    try (Program request = leaseRequest().start()) {
      request.awaitLine(line -> line.startsWith("export GPUPOOL_LEASE="));
      request.signal("INT");
      assertThat(request.awaitEnd().status()).as(request.report()).isEqualTo(INTERRUPTED);
    }
    awaitNoLease();
  }

  @Test
  void leaseRequest_interruptedWhileItWaits_isTakenBack() {
    try (Program first = pool.run(new String[] {"-p", "1"}, "cat").start()) {
      awaitLease();
      interruptWaiting();
      first.endInput();
      assertThat(first.awaitEnd().status()).isZero();
    }
    awaitNoLease();
  }

  private static void interruptWaiting() {
    try (Program waiting = leaseRequest("--wait", "10m").start()) {
      waiting.awaitErrorLine(line -> line.contains("waiting for GPUs"));
      waiting.signal("INT");
      Program.Ended ended = waiting.awaitEnd();
      assertThat(ended.status()).as(ended.toString()).isEqualTo(INTERRUPTED);
      assertThat(ended.errors()).doesNotContain("Exception");
    }
  }

  private static Program.Builder leaseRequest(String... options) {
    List<String> line =
        new ArrayList<>(List.of(Distribution.gpupool().toString(), "lease", "request"));
    line.addAll(List.of("--pool", pool.address()));
    line.addAll(List.of(WISH));
    line.addAll(List.of(options));
    return Program.of(line);
  }

  /** The client hears of the grant at about the time at which the pool shows it. */
  private static void interruptAtTheGrant(Program client) {
    awaitLease();
    client.signal("INT");
  }

  private static void awaitLease() {
    await()
        .pollInSameThread()
        .pollDelay(Duration.ZERO)
        .pollInterval(Duration.ofMillis(1))
        .atMost(Duration.ofSeconds(60))
        .until(() -> !pool.leases().isEmpty());
  }

  private static void awaitNoLease() {
    await()
        .atMost(Pool.CLEAN)
        .pollInSameThread()
        .untilAsserted(() -> assertThat(pool.leases()).isEmpty());
  }
}
