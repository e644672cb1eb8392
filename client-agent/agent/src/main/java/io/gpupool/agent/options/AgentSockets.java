// SPDX-License-Identifier: Apache-2.0
package io.gpupool.agent.options;

import io.gpupool.transport.UnixAddress;
import io.gpupool.wire.LocalSocketName;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermission;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * The unix sockets that an agent has and finds.
 *
 * @param own where shims find the agent
 * @param servers the folder of servers' sockets for call streams of this machine; null: that of the
 *     agent's own, if it is a file
 */
public record AgentSockets(UnixAddress own, @Nullable Path servers) {
  /**
   * Returns where a server's socket is; empty: the agent knows no folder of such files, or
   * everybody could make one there.
   */
  public Optional<UnixAddress> ofServer(LocalSocketName name) {
    if (name.isAbstract()) {
      return Optional.of(new UnixAddress(name.text()));
    }
    Path folder =
        servers != null || own.isAbstract()
            ? servers
            : Path.of(own.text()).toAbsolutePath().getParent();
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
}
