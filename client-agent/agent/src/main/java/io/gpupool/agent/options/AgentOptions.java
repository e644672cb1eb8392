// SPDX-License-Identifier: Apache-2.0
package io.gpupool.agent.options;

import io.gpupool.client.connection.ClientSecurity;
import io.gpupool.client.connection.PoolAddress;
import io.gpupool.client.lease.LeaseOptions;
import io.gpupool.transport.UnixAddress;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * The options of an agent.
 *
 * @param sockets where shims find it, and where it finds servers of its machine
 * @param pool the pool of programs that name none; null: there is none
 * @param token for programs that bring none, shown to {@code pool} alone; null: none
 * @param security of its connections to pools
 * @param wish what programs get that ask for nothing in particular
 * @param relay relay all call streams instead of handing them over
 * @param pods whose programs they are, on a node of Kubernetes: then each is served as its pod, and
 *     none gets a lease of its own; null: the machine is no such node
 * @param anyUser serve programs of other users than the agent's own and root
 */
public record AgentOptions(
    AgentSockets sockets,
    @Nullable PoolAddress pool,
    @Nullable String token,
    ClientSecurity security,
    LeaseOptions wish,
    boolean relay,
    @Nullable PodPrograms pods,
    boolean anyUser) {
  /** Throws {@link IllegalArgumentException} for pods without a pool. */
  public AgentOptions {
    if (pods != null && pool == null) {
      throw new IllegalArgumentException("an agent for pods needs to know the pool: give --pool");
    }
  }

  /** Returns where shims find the agent. */
  public UnixAddress socket() {
    return sockets.own();
  }

  /**
   * Returns whether an address names servers of the agent's pool only, and under the same
   * protection.
   */
  public boolean isOwnPool(PoolAddress named) {
    return Optional.ofNullable(pool)
        .map(security::secured)
        .filter(own -> own.servers().containsAll(security.secured(named).servers()))
        .isPresent();
  }
}
