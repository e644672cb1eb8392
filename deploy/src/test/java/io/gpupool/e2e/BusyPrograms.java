// SPDX-License-Identifier: Apache-2.0
package io.gpupool.e2e;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.gpupool.control.v1.GrantUse;
import io.gpupool.control.v1.LeaseInfo;
import io.gpupool.control.v1.SessionInfo;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;

/** Programs that keep a GPU of a pool busy, and what the pool's books say of their time. */
record BusyPrograms(Pool pool) {
  static final long MILLI = 1_000_000;
  private static final Duration PATIENCE = Duration.ofSeconds(60);

  /**
   * A program that has begun to keep the GPU busy.
   *
   * @param load a kind of load, with the length of its kernels in nanoseconds if it has one
   */
  Program start(String load, int percent, String... options) {
    // Room for a few processes, with what a driver takes for each.
    List<String> share = new ArrayList<>(List.of("-m", "128Mi"));
    share.addAll(List.of("--compute", Integer.toString(percent)));
    share.addAll(List.of(options));
    List<Object> command = new ArrayList<>(List.of(Distribution.LOAD));
    command.addAll(List.of(load.split(" ")));
    Program program = pool.run(share.toArray(String[]::new), command.toArray()).start();
    program.send("how much?");
    program.awaitLine(line -> line.startsWith("load " + command.get(1)));
    return program;
  }

  GrantUse useOf(Program program) {
    return leaseOf(program).getGrants(0);
  }

  long usedNanos(Program program) {
    return useOf(program).getUsedGpuNanos();
  }

  void awaitUsed(Program program, long nanos) {
    await()
        .atMost(PATIENCE)
        .pollInterval(Duration.ofMillis(50))
        .until(() -> usedNanos(program) >= nanos);
  }

  private SessionInfo sessionOf(Program program) {
    String lease = leaseOf(program).getId();
    return pool.sessions().stream()
        .filter(session -> session.getLeaseId().equals(lease))
        .findFirst()
        .orElseThrow(() -> new AssertionError("no session of\n" + program.report()));
  }

  /** Changes a program's lease while it runs. */
  void update(Program program, String... options) {
    List<String> command = new ArrayList<>(List.of("lease", "update", leaseOf(program).getId()));
    command.addAll(List.of(options));
    Program.Ended ended = pool.gpupool(command.toArray(String[]::new));
    assertThat(ended.status()).as("%s", ended).isZero();
  }

  /** Two that have half of the GPU each get other shares, and have those a second later. */
  void requireOtherSharesOnceUpdated(Program one, Program other) throws InterruptedException {
    assertThat(partOfBoth(one, other, 2000 * MILLI)).isBetween(0.4, 0.6);
    update(other, "--compute", "20");
    update(one, "--compute", "80");
    Thread.sleep(1000);
    assertThat(partOfBoth(one, other, 2000 * MILLI)).isBetween(0.7, 0.9);
    assertThat(useOf(one).getGrant().getComputePercent()).isEqualTo(80);
    assertThat(useOf(other).getGrant().getComputePercent()).isEqualTo(20);
  }

  private LeaseInfo leaseOf(Program program) {
    return pool.leases().stream()
        .filter(lease -> lease.getHolder().getPid() == program.pid())
        .findFirst()
        .orElseThrow(() -> new AssertionError("no lease of\n" + program.report()));
  }

  /** The part that one program has of what two use, from now until it has used so much. */
  double partOfBoth(Program one, Program other, long nanos) {
    long oneBefore = usedNanos(one);
    long otherBefore = usedNanos(other);
    awaitUsed(one, oneBefore + nanos);
    double oneUsed = usedNanos(one) - oneBefore;
    double otherUsed = usedNanos(other) - otherBefore;
    return oneUsed / (oneUsed + otherUsed);
  }

  /**
   * Measures the same in up to three windows, until it is within a tenth of what is expected:
   * programs with short kernels have no work for a GPU while others keep the processors busy.
   *
   * @return the nearest part
   */
  double partOfBothNearest(double expected, Program one, Program other, long nanos) {
    double nearest = partOfBoth(one, other, nanos);
    for (int more = 0; more < 2 && Math.abs(nearest - expected) > 0.1; more++) {
      double part = partOfBoth(one, other, nanos);
      nearest = Math.abs(part - expected) < Math.abs(nearest - expected) ? part : nearest;
    }
    return nearest;
  }

  /** The part of the time that a program uses, from now until it has used so much. */
  double partOfTime(Program program, long nanos) {
    long start = System.nanoTime();
    long before = usedNanos(program);
    awaitUsed(program, before + nanos);
    double used = usedNanos(program) - before;
    double passed = System.nanoTime() - start;
    return used / passed;
  }

  /** Stops a program's worker, lets it go on, and kills it: the other program gets on each time. */
  void awaitProgressWithout(Program victim, Program other) {
    String worker = Long.toString(sessionOf(victim).getWorkerPid());
    Signals.send("STOP", worker);
    awaitUsed(other, usedNanos(other) + 500 * MILLI);
    Signals.send("CONT", worker);
    awaitUsed(victim, usedNanos(victim) + 200 * MILLI);
    Signals.send("KILL", worker);
    awaitUsed(other, usedNanos(other) + 500 * MILLI);
  }
}
