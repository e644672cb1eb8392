// SPDX-License-Identifier: Apache-2.0
package io.gpupool.bench;

import io.gpupool.bench.BusyTenant.Plan;
import io.gpupool.cli.Installation;
import io.gpupool.client.PoolClient;
import io.gpupool.control.v1.ListRequest;
import io.gpupool.control.v1.SessionInfo;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import org.jspecify.annotations.Nullable;

/**
 * A measurement of how long a tenant stands still when its neighbour on the GPU is stopped, killed,
 * or hangs in a kernel. The pool is on this machine.
 */
final class TimeSliceFaults {
  private static final Plan OTHER = Plan.parse("50:eager=200us");
  private static final long BEFORE_MILLIS = 300;
  private static final long AFTER_NANOS = 2_000_000_000;
  private static final long POLL_MILLIS = 2;
  private static final double NANOS_A_MILLI = 1e6;

  private final Installation installation;
  private final PoolClient client;

  TimeSliceFaults(Installation installation, PoolClient client) {
    this.installation = installation;
    this.client = client;
  }

  /** What happens to the neighbour. */
  enum Fault {
    STOPPED("STOP", "eager=200us"),
    KILLED("KILL", "eager=200us"),
    HUNG(null, "hang");

    private final @Nullable String signal;
    private final Plan plan;

    Fault(@Nullable String signal, String load) {
      this.signal = signal;
      plan = Plan.parse("50:" + load);
    }
  }

  /** The rows of the table: fault, runs, the longest pause in each of them. */
  List<Object[]> rows(int runs) throws IOException, InterruptedException {
    List<Object[]> rows = new ArrayList<>();
    try (BusyTenant other = start(OTHER)) {
      for (Fault fault : Fault.values()) {
        List<String> pauses = new ArrayList<>();
        for (int run = 0; run < runs; run++) {
          double millis = longestPause(other, fault) / NANOS_A_MILLI;
          pauses.add(String.format(Locale.ROOT, "%.0f ms", millis));
        }
        rows.add(
            new Object[] {fault.name().toLowerCase(Locale.ROOT), runs, String.join(", ", pauses)});
      }
    }
    return rows;
  }

  private BusyTenant start(Plan plan) throws IOException {
    return BusyTenant.start(
        installation, client.address(), plan, SharesMeasurement.contextBytes(client));
  }

  private long longestPause(BusyTenant other, Fault fault)
      throws IOException, InterruptedException {
    try (BusyTenant victim = start(fault.plan)) {
      long ignored = victim.ask().units();
      Thread.sleep(BEFORE_MILLIS);
      long worker = workerOf(victim);
      long last = other.ask().units();
      if (fault.signal != null) {
        send(fault.signal, worker);
      }
      long begin = System.nanoTime();
      long lastAt = begin;
      long longest = 0;
      for (long now = begin; now - begin < AFTER_NANOS; now = System.nanoTime()) {
        long units = other.ask().units();
        if (units != last) {
          longest = Math.max(longest, now - lastAt);
          last = units;
          lastAt = now;
        }
        Thread.sleep(POLL_MILLIS);
      }
      longest = Math.max(longest, System.nanoTime() - lastAt);
      if (fault == Fault.STOPPED) {
        send("CONT", worker);
      }
      return longest;
    }
  }

  private long workerOf(BusyTenant tenant) throws IOException {
    String lease =
        SharesMeasurement.leaseOf(
                tenant,
                client.blocking().listLeases(ListRequest.getDefaultInstance()).getLeasesList())
            .getId();
    return client
        .blocking()
        .listSessions(ListRequest.getDefaultInstance())
        .getSessionsList()
        .stream()
        .filter(session -> session.getLeaseId().equals(lease))
        .mapToLong(SessionInfo::getWorkerPid)
        .findFirst()
        .orElseThrow(() -> new IOException("a tenant's session is gone"));
  }

  private static void send(String signal, long pid) throws IOException, InterruptedException {
    int ignored =
        new ProcessBuilder("kill", "-" + signal, Long.toString(pid)).inheritIO().start().waitFor();
  }
}
