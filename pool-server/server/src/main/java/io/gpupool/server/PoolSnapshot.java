// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server;

import io.gpupool.control.v1.GpuInfo;
import io.gpupool.control.v1.LeaseInfo;
import io.gpupool.control.v1.PartitionInfo;
import io.gpupool.control.v1.QueueInfo;
import io.gpupool.control.v1.ServerInfo;
import io.gpupool.control.v1.SessionInfo;
import io.gpupool.control.v1.TenantInfo;
import io.gpupool.server.tally.Row;
import io.gpupool.server.tally.Waits;
import java.util.List;

/**
 * What the pool held at one moment, as far as one caller may see it.
 *
 * @param counts what has happened on this server since its start
 * @param waits of all requests that this server has granted
 */
public record PoolSnapshot(
    List<ServerInfo> servers,
    List<GpuInfo> gpus,
    List<LeaseInfo> leases,
    List<QueueInfo> queue,
    List<SessionInfo> sessions,
    List<PartitionInfo> partitions,
    List<TenantInfo> tenants,
    List<Row> counts,
    Waits waits) {}
