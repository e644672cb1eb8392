// SPDX-License-Identifier: Apache-2.0
package io.gpupool.bench;

import io.gpupool.bench.BusyTenant.Plan;
import io.gpupool.cli.Installation;
import io.gpupool.client.PoolClient;
import io.gpupool.control.v1.GpuInfo;
import io.gpupool.control.v1.GrantUse;
import io.gpupool.control.v1.LeaseInfo;
import io.gpupool.control.v1.ListRequest;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;

/** Busy tenants side by side on one GPU of a pool, with the time that each gets. */
final class SharesMeasurement implements AutoCloseable {
  private final PoolClient client;
  private final List<Plan> plans;
  private final List<BusyTenant> tenants = new ArrayList<>();

  /** What a tenant has had by a time. */
  private record Reading(long atNanos, long usedNanos, long waitedNanos, BusyTenant.Answer told) {}

  /**
   * What a tenant had in a run, in percent: of the time, and of what all had together.
   *
   * @param counted of the time, as it counts its own kernels; NaN if they are not timed
   * @param seconds that the run took
   * @param waited seconds
   * @param waitP99Micros of requests; 0 of loads that serve none
   */
  record Figures(
      Plan plan,
      double seconds,
      double ofTime,
      double counted,
      double ofUsed,
      double waited,
      long waitP99Micros,
      long units) {}

  /** Starts the tenants and waits until all have begun. */
  SharesMeasurement(Installation installation, PoolClient client, List<Plan> plans)
      throws IOException {
    this.client = client;
    this.plans = plans;
    long contextBytes = contextBytes(client);
    try {
      for (Plan plan : plans) {
        tenants.add(BusyTenant.start(installation, client.address(), plan, contextBytes));
      }
      List<Reading> ignored = readings();
    } catch (IOException | RuntimeException e) {
      close();
      throw e;
    }
  }

  /** Memory of the pool's GPUs that each program takes by itself. */
  static long contextBytes(PoolClient client) {
    return client.blocking().listGpus(ListRequest.getDefaultInstance()).getGpusList().stream()
        .mapToLong(GpuInfo::getContextMemoryBytes)
        .max()
        .orElse(0);
  }

  /** The lease of a tenant, of those that there are. */
  static LeaseInfo leaseOf(BusyTenant tenant, List<LeaseInfo> leases) throws IOException {
    return leases.stream()
        .filter(lease -> lease.getHolder().getPid() == tenant.pid())
        .findFirst()
        .orElseThrow(() -> new IOException("the lease of process " + tenant.pid() + " is gone"));
  }

  /** Measures for some time. */
  List<Figures> run(double seconds) throws IOException, InterruptedException {
    List<Reading> before = readings();
    Thread.sleep((long) (seconds * 1000));
    return figures(before, readings());
  }

  private List<Reading> readings() throws IOException {
    List<BusyTenant.Answer> answers = new ArrayList<>();
    for (BusyTenant tenant : tenants) {
      answers.add(tenant.ask());
    }
    List<LeaseInfo> leases =
        client.blocking().listLeases(ListRequest.getDefaultInstance()).getLeasesList();
    long now = System.nanoTime();
    List<Reading> readings = new ArrayList<>();
    for (int i = 0; i < answers.size(); i++) {
      GrantUse use = leaseOf(tenants.get(i), leases).getGrants(0);
      readings.add(new Reading(now, use.getUsedGpuNanos(), use.getWaitedNanos(), answers.get(i)));
    }
    return readings;
  }

  private List<Figures> figures(List<Reading> before, List<Reading> after) {
    double all = 0;
    for (int i = 0; i < plans.size(); i++) {
      all += after.get(i).usedNanos - before.get(i).usedNanos;
    }
    List<Figures> figures = new ArrayList<>();
    for (int i = 0; i < plans.size(); i++) {
      Reading first = before.get(i);
      Reading last = after.get(i);
      double passed = last.atNanos - first.atNanos;
      double used = last.usedNanos - first.usedNanos;
      long units = last.told.units() - first.told.units();
      long kernelNanos = plans.get(i).kernelNanos();
      figures.add(
          new Figures(
              plans.get(i),
              passed / 1e9,
              100 * used / passed,
              kernelNanos == 0 ? Double.NaN : 100.0 * units * kernelNanos / passed,
              100 * used / Math.max(all, 1),
              (last.waitedNanos - first.waitedNanos) / 1e9,
              last.told.waitP99Micros(),
              units));
    }
    return figures;
  }

  @Override
  public void close() throws IOException {
    for (BusyTenant tenant : tenants) {
      tenant.close();
    }
  }
}
