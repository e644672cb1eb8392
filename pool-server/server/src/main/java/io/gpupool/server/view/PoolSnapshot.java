// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.view;

import io.gpupool.control.v1.GpuInfo;
import io.gpupool.control.v1.LeaseInfo;
import io.gpupool.control.v1.PartitionInfo;
import io.gpupool.control.v1.QueueInfo;
import io.gpupool.control.v1.ServerInfo;
import io.gpupool.control.v1.SessionInfo;
import io.gpupool.control.v1.TenantInfo;
import io.gpupool.server.metrics.MetricSample;
import java.util.List;
import java.util.Set;

/**
 * A snapshot of the pool, as far as one caller may see it.
 *
 * @param server the server that tells it
 * @param requestsHere the ids of requests whose clients are connected to this server
 * @param counts what has happened on this server since its start
 */
public record PoolSnapshot(
    String server,
    List<ServerInfo> servers,
    List<GpuInfo> gpus,
    List<LeaseInfo> leases,
    List<QueueInfo> queue,
    Set<String> requestsHere,
    List<SessionInfo> sessions,
    List<PartitionInfo> partitions,
    List<TenantInfo> tenants,
    List<MetricSample> counts) {
  /**
   * Without other servers and their GPUs, leases, sessions and requests. Tenants are the pool's.
   */
  public PoolSnapshot ofThisServer() {
    List<LeaseInfo> own = leases.stream().filter(this::isHere).toList();
    return new PoolSnapshot(
        server,
        servers.stream().filter(info -> info.getName().equals(server)).toList(),
        gpus.stream().filter(gpu -> gpu.getServer().equals(server)).toList(),
        own,
        queue.stream().filter(request -> requestsHere.contains(request.getId())).toList(),
        requestsHere,
        sessions.stream().filter(session -> session.getServer().equals(server)).toList(),
        partitions.stream()
            .filter(partition -> partition.getRef().getServer().equals(server))
            .toList(),
        tenants,
        counts);
  }

  private boolean isHere(LeaseInfo lease) {
    return lease.getGrantsList().stream()
        .anyMatch(use -> use.getGrant().getServer().equals(server));
  }
}
