// SPDX-License-Identifier: Apache-2.0
package io.gpupool.agent.options;

import io.gpupool.client.connection.ClientSecurity;
import io.gpupool.client.connection.PoolAddress;
import io.gpupool.client.lease.LeaseOptions;
import io.gpupool.transport.UnixAddress;
import io.gpupool.wire.LocalSocketName;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermission;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * The options of an agent.
 *
 * @param socket where shims find it
 * @param pool the pool of programs that name none; null: there is none
 * @param token for programs that bring none, shown to {@code pool} alone; null: none
 * @param security of its connections to pools
 * @param wish what programs get that ask for nothing in particular
 * @param relay relay all call streams instead of handing them over
 * @param pods whose programs they are, on a node of Kubernetes: then each is served as its pod, and
 *     none gets a lease of its own; null: the machine is no such node
 * @param anyUser serve programs of other users than the agent's own and root
 * @param localSockets the folder of servers' sockets for call streams of this machine; null: that
 *     of {@code socket}, if that is a file
 */
public record AgentOptions(
    UnixAddress socket,
    @Nullable PoolAddress pool,
    @Nullable String token,
    ClientSecurity security,
    LeaseOptions wish,
    boolean relay,
    @Nullable PodPrograms pods,
    boolean anyUser,
    @Nullable Path localSockets) {
  /** The options of an agent beside whose own socket servers leave theirs. */
  public AgentOptions(
      UnixAddress socket,
      @Nullable PoolAddress pool,
      @Nullable String token,
      ClientSecurity security,
      LeaseOptions wish,
      boolean relay,
      @Nullable PodPrograms pods,
      boolean anyUser) {
    this(socket, pool, token, security, wish, relay, pods, anyUser, null);
  }

  /** Throws {@link IllegalArgumentException} for pods without a pool. */
  public AgentOptions {
    if (pods != null && pool == null) {
      throw new IllegalArgumentException("an agent for pods needs to know the pool: give --pool");
    }
  }

  /**
   * Returns where a server's socket is; empty: the agent knows no folder of such files, or
   * everybody could make one there.
   */
  public Optional<UnixAddress> localSocket(LocalSocketName name) {
    if (name.isAbstract()) {
      return Optional.of(new UnixAddress(name.text()));
    }
    Path folder =
        localSockets != null || socket.isAbstract()
            ? localSockets
            : Path.of(socket.text()).toAbsolutePath().getParent();
    return folder == null || isForEverybody(folder)
        ? Optional.empty()
        : UnixAddress.of(folder.resolve(name.text()));
  }

  private static boolean isForEverybody(Path folder) {
    try {
      return Files.getPosixFilePermissions(folder).contains(PosixFilePermission.OTHERS_WRITE);
    } catch (IOException e) {
      return true;
    }
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
