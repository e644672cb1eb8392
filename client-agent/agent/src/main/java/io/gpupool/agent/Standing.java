// SPDX-License-Identifier: Apache-2.0
package io.gpupool.agent;

import java.util.Optional;
import java.util.function.Supplier;

/**
 * As whom a program turns to the pool.
 *
 * @param ticket the lease that it is to use; empty: it gets one of its own
 * @param inPod whether it is a pod's, which waits until its lease is granted
 */
record Standing(
    PoolAddress pool,
    Optional<Supplier<String>> token,
    Optional<AttachRequest.Ticket> ticket,
    boolean inPod) {

  /**
   * What the program brings, else what the agent was started with. On a node of Kubernetes it is
   * what its pod is, whatever the program says: nothing but the container is its own choice.
   *
   * @param pod that it is in, on a node of Kubernetes
   * @throws Refusal if there is no pool
   */
  static Standing of(AttachRequest request, AgentOptions options, Optional<PodPrograms.Pod> pod) {
    if (pod.isEmpty()) {
      return new Standing(
          request.pool(options),
          request.token().or(options::token).map(TokenText::new),
          request.ticket(),
          false);
    }
    return new Standing(
        options.pool().orElseThrow(),
        Optional.of(pod.get().token()),
        Optional.of(request.ticket().orElse(AttachRequest.Ticket.ONLY_OF_POD)),
        true);
  }
}
