// SPDX-License-Identifier: Apache-2.0
package io.gpupool.k8s.dra;

import io.gpupool.control.v1.GpuInfo;
import io.gpupool.control.v1.ListGpusReply;
import io.gpupool.control.v1.ListPartitionsReply;
import io.gpupool.control.v1.ListServersReply;
import io.gpupool.control.v1.PartitionInfo;
import io.gpupool.control.v1.PartitionRef;
import io.gpupool.control.v1.PartitionSize;
import io.gpupool.control.v1.ServerInfo;
import java.util.List;
import java.util.Locale;

/** What a pool says, put together piece by piece. */
final class Devices {
  final ListServersReply.Builder servers = ListServersReply.newBuilder();
  final ListGpusReply.Builder gpus = ListGpusReply.newBuilder();
  final ListPartitionsReply.Builder partitions = ListPartitionsReply.newBuilder();

  Devices server(String name, String state) {
    servers.addServers(
        ServerInfo.newBuilder()
            .setName(name)
            .setState(ServerInfo.State.valueOf("STATE_" + state.toUpperCase(Locale.ROOT))));
    return this;
  }

  Devices gpu(String server, String uuid, boolean healthy) {
    gpus.addGpus(
        GpuInfo.newBuilder()
            .setServer(server)
            .setUuid(uuid)
            .setName("NVIDIA H200")
            .setComputeCapability("9.0")
            .setDriver("580.65.06")
            .setDriverVersion(13000)
            .setHealth(healthy ? GpuInfo.Health.HEALTH_HEALTHY : GpuInfo.Health.HEALTH_UNHEALTHY));
    return this;
  }

  Devices partition(String uuid, String name, long mebibytes, double compute, String... tenants) {
    partitions.addPartitions(
        PartitionInfo.newBuilder()
            .setRef(PartitionRef.newBuilder().setName(name))
            .setGpuUuid(uuid)
            .setSize(
                PartitionSize.newBuilder()
                    .setMemoryBytes(mebibytes << 20)
                    .setComputePercent(compute))
            .addAllTenants(List.of(tenants)));
    return this;
  }

  List<PoolDevice> all() {
    return PoolDevice.of(servers.build(), gpus.build(), partitions.build(), "dra");
  }
}
