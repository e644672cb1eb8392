// SPDX-License-Identifier: Apache-2.0
package io.gpupool.k8s.dra;

import io.gpupool.control.v1.GpuInfo;
import io.gpupool.control.v1.ListGpusReply;
import io.gpupool.control.v1.ListPartitionsReply;
import io.gpupool.control.v1.ListServersReply;
import io.gpupool.control.v1.PartitionInfo;
import io.gpupool.control.v1.ServerInfo;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * A partition of a GPU that is set aside for claims.
 *
 * @param gpu the whole GPU
 * @param tenant the tenant for which the partition is reserved
 * @param ailment why nothing more may be allocated from it; null: it may
 */
record PoolDevice(
    GpuInfo gpu,
    String tenant,
    long memoryMebibytes,
    int computePercent,
    @Nullable TaintReason ailment) {
  // A device that can be had in part has at least two steps.
  private static final int LEAST = 2;

  /** The reasons not to allocate any more. */
  enum TaintReason {
    unhealthy,
    draining
  }

  String pool() {
    return DraNames.pool(gpu.getServer());
  }

  String name() {
    return DraNames.device(gpu.getUuid());
  }

  /**
   * Returns all devices of the pool. Partitions that are not reserved for exactly one tenant are
   * left out: others could take what the scheduler gives away.
   */
  static List<PoolDevice> of(
      ListServersReply servers,
      ListGpusReply gpus,
      ListPartitionsReply partitions,
      String partition) {
    Map<String, ServerInfo.State> states = new HashMap<>();
    for (ServerInfo server : servers.getServersList()) {
      states.put(server.getName(), server.getState());
    }
    Map<String, GpuInfo> byUuid = new HashMap<>();
    gpus.getGpusList().forEach(gpu -> byUuid.put(gpu.getUuid(), gpu));
    List<PoolDevice> devices = new ArrayList<>();
    for (PartitionInfo part : partitions.getPartitionsList()) {
      GpuInfo gpu = byUuid.get(part.getGpuUuid());
      if (gpu != null
          && part.getRef().getName().equals(partition)
          && part.getTenantsCount() == 1
          && !part.getLeaving()) {
        of(gpu, part, states.getOrDefault(gpu.getServer(), ServerInfo.State.STATE_UNSPECIFIED))
            .ifPresent(devices::add);
      }
    }
    return devices;
  }

  private static Optional<PoolDevice> of(GpuInfo gpu, PartitionInfo part, ServerInfo.State server) {
    boolean shrinks = part.hasTarget();
    long memory = (shrinks ? part.getTarget() : part.getSize()).getMemoryBytes() >> 20;
    int compute = (int) (shrinks ? part.getTarget() : part.getSize()).getComputePercent();
    if (memory < LEAST || compute < LEAST) {
      return Optional.empty();
    }
    TaintReason ailment =
        gpu.getHealth() != GpuInfo.Health.HEALTH_HEALTHY
            ? TaintReason.unhealthy
            : server == ServerInfo.State.STATE_READY ? null : TaintReason.draining;
    return Optional.of(new PoolDevice(gpu, part.getTenants(0), memory, compute, ailment));
  }
}
