// SPDX-License-Identifier: Apache-2.0
package io.gpupool.cli;

import com.google.gson.JsonObject;
import io.gpupool.client.PoolClient;
import io.gpupool.control.v1.GpuInfo;
import io.gpupool.control.v1.LeaseInfo;
import io.gpupool.control.v1.ListRequest;
import io.gpupool.control.v1.PoolGrpc.PoolBlockingStub;
import io.gpupool.control.v1.QueueInfo;
import io.gpupool.control.v1.ServerInfo;
import io.gpupool.control.v1.SessionInfo;
import io.gpupool.json.JsonForm;
import java.util.List;

/** The state of a pool at one time. */
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

  /** Returns the pool in the form of the command's JSON. */
  public JsonObject json() {
    JsonObject json = new JsonObject();
    json.add("servers", JsonForm.of(servers));
    json.add("gpus", JsonForm.of(gpus));
    json.add("leases", JsonForm.of(leases));
    json.add("queue", JsonForm.of(queue));
    json.add("sessions", JsonForm.of(sessions));
    return json;
  }
}
