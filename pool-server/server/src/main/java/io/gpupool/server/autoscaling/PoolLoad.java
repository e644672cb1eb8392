// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.autoscaling;

import io.gpupool.control.v1.QueueInfo;
import io.gpupool.control.v1.ServerInfo;
import java.util.List;

/**
 * The load of a pool at one moment: its servers and the requests that wait.
 *
 * @param waiting requests that more GPUs would help
 */
public record PoolLoad(List<ServerLoad> servers, List<PendingRequest> waiting) {
  public PoolLoad {
    servers = List.copyOf(servers);
    waiting = List.copyOf(waiting);
  }

  /** As the control plane tells of it. */
  public static PoolLoad of(List<ServerInfo> servers, List<QueueInfo> queue) {
    return new PoolLoad(
        servers.stream()
            .map(server ->
                new ServerLoad(
                    server.getName(),
                    server.getGpus(),
                    server.getIdleMillis(),
                    server.getState() == ServerInfo.State.STATE_READY))
            .toList(),
        queue.stream()
            .filter(request -> !request.getOverQuota())
            .map(request ->
                new PendingRequest(
                    request.getGpus(), request.getModel(), request.getWaitedMillis()))
            .toList());
  }

  public double waitingGpus() {
    return waiting.stream().mapToDouble(PendingRequest::gpus).sum();
  }
}
