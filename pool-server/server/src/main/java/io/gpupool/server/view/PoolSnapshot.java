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
 * @param counts the counters of that server since its start
 */
public record PoolSnapshot(
    String server,
    Resources resources,
    Workload workload,
    List<TenantInfo> tenants,
    List<MetricSample> counts) {
  /** The resources of the pool. */
  public record Resources(
      List<ServerInfo> servers, List<GpuInfo> gpus, List<PartitionInfo> partitions) {
    private Resources of(String server) {
      return new Resources(
          servers.stream().filter(info -> info.getName().equals(server)).toList(),
          gpus.stream().filter(gpu -> gpu.getServer().equals(server)).toList(),
          partitions.stream()
              .filter(partition -> partition.getRef().getServer().equals(server))
              .toList());
    }
  }

  /**
   * The use of the pool.
   *
   * @param requestsHere the ids of requests whose clients are connected to the server that tells it
   */
  public record Workload(
      List<LeaseInfo> leases,
      List<QueueInfo> queue,
      Set<String> requestsHere,
      List<SessionInfo> sessions) {
    private Workload of(String server) {
      return new Workload(
          leases.stream().filter(lease -> hasGpuOf(lease, server)).toList(),
          queue.stream().filter(request -> requestsHere.contains(request.getId())).toList(),
          requestsHere,
          sessions.stream().filter(session -> session.getServer().equals(server)).toList());
    }

    private static boolean hasGpuOf(LeaseInfo lease, String server) {
      return lease.getGrantsList().stream()
          .anyMatch(use -> use.getGrant().getServer().equals(server));
    }
  }

  public List<ServerInfo> servers() {
    return resources.servers();
  }

  public List<GpuInfo> gpus() {
    return resources.gpus();
  }

  public List<PartitionInfo> partitions() {
    return resources.partitions();
  }

  public List<LeaseInfo> leases() {
    return workload.leases();
  }

  public List<QueueInfo> queue() {
    return workload.queue();
  }

  public List<SessionInfo> sessions() {
    return workload.sessions();
  }

  /**
   * Returns the snapshot without other servers and their GPUs, leases, sessions and requests.
   * Tenants are the pool's.
   */
  public PoolSnapshot ofThisServer() {
    return new PoolSnapshot(server, resources.of(server), workload.of(server), tenants, counts);
  }
}
