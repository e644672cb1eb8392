// SPDX-License-Identifier: Apache-2.0
package io.gpupool.agent;

import io.netty.channel.unix.PeerCredentials;
import java.util.Optional;

/**
 * As whom a program turns to the pool.
 *
 * @param ticket the lease that it is to use; empty: it gets one of its own
 * @param inPod whether it is a pod's, which waits until its lease is granted
 */
record Standing(
    PoolAddress pool,
    Optional<String> token,
    Optional<AttachRequest.Ticket> ticket,
    boolean inPod) {

  /**
   * What the program brings, else what the agent was started with. On a node of Kubernetes it is
   * what its pod is, whatever the program says: nothing but the container is its own choice.
   *
   * @param thereTicks when the program was seen to be there, on a node of Kubernetes
   * @throws Refusal if there is no pool, or on a node of Kubernetes no pod
   */
  static Standing of(
      AttachRequest request, PeerCredentials peer, AgentOptions options, long thereTicks) {
    if (options.pods().isEmpty()) {
      return new Standing(
          request.pool(options), request.token().or(options::token), request.ticket(), false);
    }
    PodPrograms.Pod pod = options.pods().get().podOf(peer.pid(), thereTicks);
    return new Standing(
        options.pool().orElseThrow(),
        Optional.of(pod.token()),
        Optional.of(request.ticket().orElse(AttachRequest.Ticket.ONLY_OF_POD)),
        true);
  }
}
