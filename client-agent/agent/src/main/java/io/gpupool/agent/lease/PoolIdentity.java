// SPDX-License-Identifier: Apache-2.0
package io.gpupool.agent.lease;

import io.gpupool.agent.options.AgentOptions;
import io.gpupool.agent.options.PodPrograms;
import io.gpupool.client.connection.PoolAddress;
import io.gpupool.client.connection.PoolRequestException;
import io.gpupool.client.connection.TokenText;
import java.util.Optional;

/**
 * The pool, the credentials and the lease with which a program is served.
 *
 * @param ticket the lease that it is to use; empty: it gets one of its own
 * @param inPod whether it is a pod's, which waits until its lease is granted
 */
public record PoolIdentity(
    PoolAddress pool,
    PoolCredentials credentials,
    Optional<AttachRequest.LeaseHandle> ticket,
    boolean inPod) {

  /**
   * The program's token, else the token that the agent was started with. The agent's token and
   * certificate go to the agent's own pool alone: a pool that a program names may be the program
   * itself. On a node of Kubernetes it is what its pod is, whatever the program says: nothing but
   * the container is its own choice.
   *
   * @param pod that it is in, on a node of Kubernetes
   * @throws PoolRequestException if there is no pool
   */
  public static PoolIdentity of(
      AttachRequest request, AgentOptions options, Optional<PodPrograms.Pod> pod) {
    if (pod.isEmpty()) {
      PoolAddress pool = request.pool(options);
      PoolCredentials credentials =
          options.isOwnPool(pool)
              ? PoolCredentials.toOwnPool(request.token().or(options::token).map(TokenText::new))
              : PoolCredentials.toOtherPool(request.token().map(TokenText::new));
      return new PoolIdentity(pool, credentials, request.ticket(), false);
    }
    return new PoolIdentity(
        options.pool().orElseThrow(),
        PoolCredentials.toOwnPool(Optional.of(pod.get().token())),
        Optional.of(request.ticket().orElse(AttachRequest.LeaseHandle.ONLY_OF_POD)),
        true);
  }
}
