// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.autoscaling;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Random;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * A day of a set of servers that is scaled as the scaler says, under a load that comes in bursts:
 * asked every fifteen seconds, servers start within two minutes, the last one goes first.
 */
class BurstyLoadTest {
  private static final int GPUS = 4;
  private static final int STEP_SECONDS = 5;
  private static final int LOOK_SECONDS = 15;
  private static final int DAY_SECONDS = 24 * 3600;
  private static final ScalingPolicy POLICY =
      ScalingPolicy.of(Map.of("gpusPerServer", "" + GPUS, "minServers", "1", "maxServers", "16"));

  /** A request, and when its lease ends. */
  private static final class Job {
    private final double gpus;
    private final int seconds;
    private final long sinceMillis;
    private long untilMillis;

    Job(double gpus, int seconds, long sinceMillis) {
      this.gpus = gpus;
      this.seconds = seconds;
      this.sinceMillis = sinceMillis;
    }
  }

  /** A server; it is there when it has started. */
  private static final class Host {
    private final long readyAtMillis;
    private final List<Job> jobs = new ArrayList<>();
    private long idleSinceMillis;

    Host(long readyAtMillis) {
      this.readyAtMillis = readyAtMillis;
      idleSinceMillis = readyAtMillis;
    }

    double free() {
      return GPUS - jobs.stream().mapToDouble(job -> job.gpus).sum();
    }
  }

  private final List<Host> hosts = new ArrayList<>(List.of(new Host(0)));
  private final Deque<Job> queue = new ArrayDeque<>();
  private final List<ScalingTarget> targets = new ArrayList<>();
  private long longestWaitMillis;
  private long serverSeconds;
  private int served;

  @ParameterizedTest
  @ValueSource(longs = {1, 2, 3, 4, 5})
  void day_ofBursts_isServedWithoutFlappingAndTouchesNoLease(long seed) {
    Random random = new Random(seed);
    int bursts = 0;
    int asked = 0;
    for (int second = 0; second < DAY_SECONDS; second += STEP_SECONDS) {
      long nowMillis = second * 1000L;
      boolean burst = random.nextInt(3600 / STEP_SECONDS) == 0;
      bursts += burst ? 1 : 0;
      int jobs = burst ? 20 + random.nextInt(20) : random.nextInt(60) == 0 ? 1 : 0;
      for (int i = 0; i < jobs; i++) {
        queue.add(new Job((1 + random.nextInt(8)) / 4.0, 30 + random.nextInt(600), nowMillis));
        asked++;
      }
      step(nowMillis);
      if (second % LOOK_SECONDS == 0) {
        scale(nowMillis, random);
      }
    }
    long endMillis = DAY_SECONDS * 1000L;
    for (long nowMillis = endMillis; nowMillis < endMillis + 7_200_000; nowMillis += 5000) {
      step(nowMillis);
      scale(nowMillis, random);
    }
    assertThat(served).as("of %s requests", asked).isEqualTo(asked);
    assertThat(hosts).as("in the end").hasSize(1);
    assertThat(longestWaitMillis).isLessThan(20 * 60_000L);
    int down = 0;
    for (int i = 1; i < targets.size(); i++) {
      if (targets.get(i).servers() < targets.get(i - 1).servers()) {
        down++;
        assertThat(targets.get(i).changedAtMillis() - targets.get(i - 1).changedAtMillis())
            .isGreaterThanOrEqualTo(POLICY.delays().coolDownMillis());
      }
    }
    // Servers come with a burst and go after it, once or a few times as its leases end.
    assertThat(down).as("%s bursts", bursts).isBetween(1, 4 * bursts + 4);
    assertThat(serverSeconds).isLessThan(16L * DAY_SECONDS * 2 / 3);
  }

  /** Jobs that follow each other sooner than servers are given back. */
  @ParameterizedTest
  @ValueSource(ints = {30, 120, 400})
  void load_thatComesAndGoes_changesNothingOnceItIsServed(int pauseSeconds) {
    Random random = new Random(pauseSeconds);
    int period = 300 + pauseSeconds;
    int changesAfterFirst = 0;
    for (int second = 0; second < 20 * period; second += STEP_SECONDS) {
      if (second % period == 0) {
        for (int i = 0; i < 12; i++) {
          queue.add(new Job(1, 120, second * 1000L));
        }
      }
      step(second * 1000L);
      int before = targets.size();
      scale(second * 1000L, random);
      changesAfterFirst += second > 2 * period ? targets.size() - before : 0;
    }
    assertThat(changesAfterFirst).isZero();
  }

  private void step(long nowMillis) {
    for (Host host : hosts) {
      boolean had = !host.jobs.isEmpty();
      host.jobs.removeIf(job -> job.untilMillis <= nowMillis);
      if (had && host.jobs.isEmpty()) {
        host.idleSinceMillis = nowMillis;
      }
    }
    for (Job job : List.copyOf(queue)) {
      for (Host host : hosts) {
        if (host.readyAtMillis <= nowMillis && host.free() >= job.gpus) {
          host.jobs.add(job);
          queue.remove(job);
          job.untilMillis = nowMillis + job.seconds * 1000L;
          longestWaitMillis = Math.max(longestWaitMillis, nowMillis - job.sinceMillis);
          served++;
          break;
        }
      }
    }
    serverSeconds += (long) hosts.size() * STEP_SECONDS;
  }

  private void scale(long nowMillis, Random random) {
    List<ServerLoad> seen = new ArrayList<>();
    for (int i = 0; i < hosts.size(); i++) {
      Host host = hosts.get(i);
      if (host.readyAtMillis <= nowMillis) {
        long idle = host.jobs.isEmpty() ? Math.max(1, nowMillis - host.idleSinceMillis) : 0;
        seen.add(new ServerLoad("gpu-" + i, GPUS, idle, true));
      }
    }
    List<PendingRequest> waiting =
        queue.stream()
            .map(job -> new PendingRequest(job.gpus, "", nowMillis - job.sinceMillis))
            .toList();
    ScalingTarget before = targets.isEmpty() ? null : targets.getLast();
    ScalingTarget target = Scaler.next(before, new PoolLoad(seen, waiting), POLICY, nowMillis);
    if (!Objects.equals(before, target)) {
      targets.add(target);
    }
    while (hosts.size() < target.servers()) {
      hosts.add(new Host(nowMillis + 60_000 + random.nextInt(60_000)));
    }
    while (hosts.size() > target.servers()) {
      assertThat(hosts.removeLast().jobs).as("leases of a server that is removed").isEmpty();
    }
  }
}
