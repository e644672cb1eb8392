// SPDX-License-Identifier: Apache-2.0
package io.gpupool.cli.pool;

import io.gpupool.cli.Amounts;
import io.gpupool.cli.PoolSnapshot;
import io.gpupool.cli.Table;
import io.gpupool.control.v1.GrantUse;
import io.gpupool.control.v1.LeaseInfo;
import io.gpupool.control.v1.SessionInfo;

/** Table of what leases, and under each its programs, had of the GPUs' time so far. */
final class GpuTimes {
  private GpuTimes() {}

  static Table table(PoolSnapshot pool) {
    Table times =
        new Table("LEASE", "GPU", "GRANTED", "USED", "WAITED", "THROTTLED", "DEBT", "PROGRAM");
    for (LeaseInfo lease : pool.leases()) {
      for (GrantUse use : lease.getGrantsList()) {
        times.row(
            lease.getId(),
            use.getGrant().getServer() + "/" + use.getGrant().getGpu(),
            Amounts.time(use.getGrantedGpuNanos()),
            Amounts.time(use.getUsedGpuNanos()),
            Amounts.time(use.getWaitedNanos()),
            Amounts.time(use.getThrottledNanos()),
            Amounts.time(use.getDebtGpuNanos()),
            "");
      }
      pool.sessions().stream()
          .filter(session -> session.getLeaseId().equals(lease.getId()))
          .forEach(session -> row(times, session));
    }
    return times;
  }

  private static void row(Table times, SessionInfo session) {
    times.row(
        "  program",
        session.getServer(),
        Amounts.time(session.getGrantedGpuNanos()),
        Amounts.time(session.getGpuNanos()),
        Amounts.time(session.getWaitedNanos()),
        Amounts.time(session.getThrottledNanos()),
        Amounts.time(session.getDebtGpuNanos()),
        session.getClient().getPid() + " " + session.getClient().getProgram());
  }
}
