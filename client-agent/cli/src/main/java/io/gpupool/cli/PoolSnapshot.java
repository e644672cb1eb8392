// SPDX-License-Identifier: Apache-2.0
package io.gpupool.cli;

import io.gpupool.client.PoolClient;
import io.gpupool.control.v1.GpuInfo;
import io.gpupool.control.v1.LeaseInfo;
import io.gpupool.control.v1.ListRequest;
import io.gpupool.control.v1.PoolGrpc.PoolBlockingStub;
import io.gpupool.control.v1.QueueInfo;
import io.gpupool.control.v1.ServerInfo;
import io.gpupool.control.v1.SessionInfo;
import java.util.List;

/** What a pool says of itself at one time. */
public record PoolSnapshot(
    List<ServerInfo> servers,
    List<GpuInfo> gpus,
    List<LeaseInfo> leases,
    List<QueueInfo> queue,
    List<SessionInfo> sessions) {
  public static PoolSnapshot of(PoolClient client) {
    PoolBlockingStub pool = client.blocking();
    ListRequest all = ListRequest.getDefaultInstance();
    return new PoolSnapshot(
        pool.listServers(all).getServersList(),
        pool.listGpus(all).getGpusList(),
        pool.listLeases(all).getLeasesList(),
        pool.listQueue(all).getRequestsList(),
        pool.listSessions(all).getSessionsList());
  }

  public String json() {
    return """
    {"servers": %s,
    "gpus": %s,
    "leases": %s,
    "queue": %s,
    "sessions": %s}\
    """
        .formatted(
            Json.of(servers), Json.of(gpus), Json.of(leases), Json.of(queue), Json.of(sessions));
  }
}
