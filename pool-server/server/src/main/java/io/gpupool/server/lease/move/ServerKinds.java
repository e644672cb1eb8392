// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.lease.move;

import io.gpupool.server.capacity.Members;
import io.gpupool.server.records.ServerEntry;
import java.util.Optional;

/**
 * The kinds of the pool's servers: the workers of one kind read what those of another write. Used
 * by the control thread.
 *
 * @param own kind of this server
 */
public record ServerKinds(Members members, Kind own) {
  /**
   * The kind of a server.
   *
   * @param backend nvidia or soft
   * @param version of gpupool
   * @param movable whether sessions may move to it, and away
   */
  public record Kind(String backend, String version, boolean movable) {}

  /** Returns why sessions of one server cannot go on at another; empty: they can. */
  Optional<String> difference(String server, String other) {
    Kind one = of(server);
    Kind another = of(other);
    if (!one.backend().equals(another.backend())) {
      return Optional.of(
          server + " has " + one.backend() + " GPUs, and " + other + " " + another.backend());
    }
    if (!one.version().equals(another.version())) {
      return Optional.of(
          server
              + " runs gpupool "
              + one.version()
              + ", and "
              + other
              + " "
              + another.version()
              + "; install the same version on both");
    }
    return fixed(other);
  }

  /** Returns why sessions of a server cannot move at all; empty: they can. */
  Optional<String> fixed(String server) {
    return of(server).movable()
        ? Optional.empty()
        : Optional.of(
            server
                + " has NVIDIA GPUs and was started without --movable, so their driver chooses all"
                + " addresses");
  }

  private Kind of(String server) {
    ServerEntry entry = members.others().get(server);
    return members.isThis(server) || entry == null
        ? own
        : new Kind(entry.backend(), entry.version(), entry.movable());
  }
}
