// SPDX-License-Identifier: Apache-2.0
package io.gpupool.e2e;

import static io.gpupool.control.v1.LeaseClass.LEASE_CLASS_LATENCY;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.gpupool.control.v1.LeaseInfo;
import io.gpupool.control.v1.ListTenantsRequest;
import io.gpupool.control.v1.ReleaseLeaseRequest;
import io.grpc.StatusRuntimeException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Optional;
import java.util.Random;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * A server that is killed at random points of a scripted day remembers what it acknowledged, and
 * nothing else but at most what it was asked for just then. {@code -Dgpupool.crash.points=200}
 * kills it as often, {@code -Dgpupool.crash.seed=N} on another day.
 */
class CrashIT {
  private static final int POINTS = Integer.getInteger("gpupool.crash.points", 4);
  private static final long SEED = Long.getLong("gpupool.crash.seed", 1);
  private static final int MAX_MILLIS = 1000;

  @TempDir Path folder;
  private final Random random = new Random(SEED);
  private final ScriptedDay day = new ScriptedDay(random);
  private int operations;

  @Test
  void server_killedAtAnyPoint_remembersWhatItAcknowledged() throws Exception {
    Optional<PoolMemory> acknowledged = Optional.empty();
    ScriptedDay.Operation open = ScriptedDay.NOTHING;
    boolean answered = false;
    for (int point = 0; point <= POINTS; point++) {
      try (Pool pool =
          Pool.start("soft:2,mem=1Gi", "--state", folder.toString(), "--auth", "tokens")) {
        String token = Files.readString(folder.resolve("admin.token")).strip();
        try (Clients clients = new Clients(pool.controlPort(), token)) {
          PoolMemory memory = PoolMemory.of(clients);
          if (acknowledged.isPresent()) {
            assertRemembered(acknowledged.get(), memory, open, answered, point);
          }
          comeBack(clients, memory, pool);
          if (point == POINTS) {
            break;
          }
          acknowledged = Optional.of(PoolMemory.of(clients));
          open = ScriptedDay.NOTHING;
          CompletableFuture<Void> killed =
              CompletableFuture.runAsync(
                  () -> pool.server().signal("KILL"),
                  CompletableFuture.delayedExecutor(
                      random.nextInt(MAX_MILLIS), TimeUnit.MILLISECONDS));
          try {
            while (true) {
              ScriptedDay.Operation operation = day.next();
              open = operation;
              answered = false;
              answered = run(operation, clients);
              operations++;
              acknowledged = Optional.of(PoolMemory.of(clients));
            }
          } catch (StatusRuntimeException e) {
            assertThat(ScriptedDay.isRefusal(e)).as("%s", e).isFalse();
          }
          killed.join();
        }
      }
    }
    System.out.println(
        "CrashIT: " + POINTS + " kills among " + operations + " operations, seed " + SEED);
    assertThat(operations).isGreaterThan(POINTS);
  }

  @Test
  void run_serverKilledAndStartedAgain_keepsItsLease() throws Exception {
    String[] options = {"--state", folder.toString()};
    Pool first = Pool.start("soft:1,mem=1Gi", options);
    try (Program program = startOnHalf(first)) {
      String lease = first.leases().getFirst().getId();
      first.server().kill();
      first.close();
      try (Pool second = Pool.startAt(first.controlPort(), "soft:1,mem=1Gi", options)) {
        awaitHeld(second);
        assertThat(second.leases().getFirst().getId()).isEqualTo(lease);
        assertThat(second.freeBytes()).isEqualTo(512L << 20);
        program.endInput();
        assertThat(program.awaitEnd().status()).isZero();
        second.awaitIdle();
      }
    }
  }

  @Test
  void lease_updatedBeforeTheServerIsKilled_isAsItWasChanged() throws Exception {
    String[] options = {"--state", folder.toString()};
    Pool first = Pool.start("soft:1,mem=1Gi", options);
    try (Program program = startOnHalf(first)) {
      String lease = first.leases().getFirst().getId();
      Program.Ended updated =
          first.gpupool("lease", "update", lease, "--compute", "80", "--hard", "--latency");
      assertThat(updated.output()).contains(lease).contains("80%").contains("hard");
      assertThat(first.gpupool("lease", "update", lease, "--compute", "80").status()).isZero();
      first.server().kill();
      first.close();
      try (Pool second = Pool.startAt(first.controlPort(), "soft:1,mem=1Gi", options)) {
        awaitHeld(second);
        LeaseInfo after = second.leases().getFirst();
        assertThat(after.getId()).isEqualTo(lease);
        assertThat(after.getClass_()).isEqualTo(LEASE_CLASS_LATENCY);
        assertThat(after.getGrants(0).getGrant().getComputePercent()).isEqualTo(80);
        assertThat(after.getGrants(0).getGrant().getHard()).isTrue();
        assertThat(second.gpus().getFirst().getFreeComputePercent()).isEqualTo(20);
        assertThat(second.gpupool("audit").output()).contains("lease.update");
        program.endInput();
        assertThat(program.awaitEnd().status()).isZero();
        second.awaitIdle();
      }
    }
  }

  /** A program that runs until its input ends. */
  private static Program startOnHalf(Pool pool) {
    String[] half = {"-p", "0.5"};
    Program program = pool.run(half, "sh", "-c", "echo started; exec cat").start();
    program.awaitLine("started"::equals);
    return program;
  }

  private static void awaitHeld(Pool pool) {
    await()
        .atMost(Duration.ofSeconds(20))
        .untilAsserted(() ->
            assertThat(pool.leases()).anyMatch(l -> l.getState() == LeaseInfo.State.STATE_HELD));
  }

  /** True if it was done; false if the server refused it. */
  private static boolean run(ScriptedDay.Operation operation, Clients clients) throws Exception {
    try {
      return operation.call().run(clients);
    } catch (StatusRuntimeException e) {
      if (ScriptedDay.isRefusal(e)) {
        return false;
      }
      throw e;
    }
  }

  private void assertRemembered(
      PoolMemory acknowledged,
      PoolMemory memory,
      ScriptedDay.Operation open,
      boolean answered,
      int point) {
    Set<String> changed = acknowledged.difference(memory);
    assertThat(changed)
        .as(
            "kill %d, seed %d, during %s%nbefore %s%nafter %s",
            point, SEED, open.text(), acknowledged, memory)
        .allMatch(open.mayChange());
    if (answered) {
      assertThat(open.done().test(memory)).as("%s, acknowledged", open.text()).isTrue();
    }
    assertThat(changed.stream().filter(entry -> entry.startsWith("lease ")).count())
        .isLessThanOrEqualTo(1);
  }

  /** Holders come back to their leases; tokens let their holders in; what nobody knows goes. */
  private void comeBack(Clients clients, PoolMemory memory, Pool pool) throws Exception {
    day.leases().keySet().removeIf(id -> !memory.entries().containsKey("lease " + id));
    day.tokens().keySet().removeIf(id -> !memory.entries().containsKey("token " + id));
    day.holdAgain(clients);
    for (String entry : memory.entries().keySet()) {
      String id = entry.substring(entry.indexOf(' ') + 1);
      if (entry.startsWith("lease ") && !day.leases().containsKey(id)) {
        clients.pool().releaseLease(ReleaseLeaseRequest.newBuilder().setLeaseId(id).build());
      }
    }
    Optional<String> some = day.tokens().values().stream().findAny();
    if (some.isPresent()) {
      try (Clients tenant = new Clients(pool.controlPort(), some.get())) {
        assertThat(
                tenant
                    .admin()
                    .listTenants(ListTenantsRequest.getDefaultInstance())
                    .getTenantsCount())
            .isEqualTo(1);
      }
    }
  }
}
