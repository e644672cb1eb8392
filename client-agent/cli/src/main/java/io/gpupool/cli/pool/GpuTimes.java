// SPDX-License-Identifier: Apache-2.0
package io.gpupool.cli.pool;

import io.gpupool.cli.Amounts;
import io.gpupool.cli.PoolSnapshot;
import io.gpupool.cli.Table;
import io.gpupool.cli.table.LeaseRow;
import io.gpupool.control.v1.GrantUse;
import io.gpupool.control.v1.SessionInfo;

/** Table of what leases, and under each its programs, had of the GPUs' time so far. */
final class GpuTimes {
  private GpuTimes() {}

  static Table table(PoolSnapshot pool) {
    Table times =
        new Table("LEASE", "GPU", "GRANTED", "USED", "WAITED", "THROTTLED", "DEBT", "PROGRAM");
    for (LeaseRow row : LeaseRow.of(pool)) {
      switch (row) {
        case LeaseRow.Share share -> add(share, times);
        case LeaseRow.Program program -> add(program.session(), times);
      }
    }
    return times;
  }

  private static void add(LeaseRow.Share share, Table times) {
    GrantUse use = share.use();
    times.row(
        share.lease().getId(),
        share.place(),
        Amounts.time(use.getGrantedGpuNanos()),
        Amounts.time(use.getUsedGpuNanos()),
        Amounts.time(use.getWaitedNanos()),
        Amounts.time(use.getThrottledNanos()),
        Amounts.time(use.getDebtGpuNanos()));
  }

  private static void add(SessionInfo session, Table times) {
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
