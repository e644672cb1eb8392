// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.view;

import io.gpupool.control.v1.DescribeLeaseReply;
import io.gpupool.runtime.Timers;
import io.gpupool.server.identity.Principal;
import io.gpupool.server.lease.lifecycle.Lease;
import io.gpupool.server.records.ServerStatus;

/**
 * The views of the pool, one for each listing, and what takes several of them. Runs on the control
 * thread.
 */
public record PoolView(
    ServerView servers,
    GpuView gpus,
    LeaseView leases,
    QueueView queue,
    SessionView sessions,
    MetricsView metrics,
    ServerDirectory directory,
    Timers timers) {

  /** All that a caller may see. */
  PoolSnapshot snapshot(Principal principal, AdminView admin) {
    return new PoolSnapshot(
        directory.name(),
        new PoolSnapshot.Resources(
            servers.list().getServersList(),
            gpus.list().getGpusList(),
            admin.partitions(principal).getPartitionsList()),
        new PoolSnapshot.Workload(
            leases.list(principal).getLeasesList(),
            queue.list(principal).getRequestsList(),
            queue.idsHere(),
            sessions.list(principal, false).getSessionsList()),
        admin.tenants(principal).getTenantsList(),
        metrics.rows(principal));
  }

  /** One lease, with its GPUs and programs. */
  public DescribeLeaseReply describe(Lease lease) {
    DescribeLeaseReply.Builder reply =
        DescribeLeaseReply.newBuilder().setLease(leases.lease(lease));
    lease.parts().forEach(part -> reply.addGpus(gpus.of(part)));
    return reply.addAllSessions(sessions.of(lease)).build();
  }

  /** The status that this server publishes to the others. */
  public ServerStatus status() {
    return new ServerStatus(
        timers.wallMillis(), servers.self(), leases.usedHere(), sessions.here());
  }
}
