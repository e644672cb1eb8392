// SPDX-License-Identifier: Apache-2.0
package io.gpupool.agent.lease;

import io.gpupool.agent.options.AgentOptions;
import io.gpupool.agent.options.PodPrograms;
import io.gpupool.client.connection.PoolAddress;
import io.gpupool.client.connection.PoolRequestException;
import io.gpupool.client.connection.TokenText;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * The pool, the credentials and the lease with which a program is served.
 *
 * @param ticket the lease that it uses; null: it gets one of its own
 * @param inPod whether it is a pod's, which waits until its lease is granted
 */
public record PoolIdentity(
    PoolAddress pool,
    PoolCredentials credentials,
    AttachRequest.@Nullable LeaseHandle ticket,
    boolean inPod) {

  /**
   * Returns the identity of a program on a machine of its own: its token, else the token that the
   * agent was started with. The agent's token and certificate go to the agent's own pool alone: a
   * pool that a program names may be the program itself.
   *
   * @throws PoolRequestException if there is no pool
   */
  public static PoolIdentity ofProgram(AttachRequest request, AgentOptions options) {
    PoolAddress pool = request.pool(options);
    PoolCredentials credentials =
        options.isOwnPool(pool)
            ? PoolCredentials.toOwnPool(
                text(request.token() == null ? options.token() : request.token()))
            : PoolCredentials.toOtherPool(text(request.token()));
    return new PoolIdentity(pool, credentials, request.ticket(), false);
  }

  /**
   * Returns the identity of a program on a node of Kubernetes, which is that of its pod, whatever
   * the program says: it chooses nothing but the container.
   */
  public static PoolIdentity ofPod(
      AttachRequest request, AgentOptions options, PodPrograms.Pod pod) {
    return new PoolIdentity(
        Objects.requireNonNull(options.pool(), "an agent for pods knows the pool"),
        PoolCredentials.toOwnPool(pod.token()),
        Objects.requireNonNullElse(request.ticket(), AttachRequest.LeaseHandle.ONLY_OF_POD),
        true);
  }

  private static @Nullable TokenText text(@Nullable String token) {
    return token == null ? null : new TokenText(token);
  }
}
