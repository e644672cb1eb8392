// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.lease.model;

import io.gpupool.server.capacity.Members;
import io.gpupool.server.placement.Placement.Part;
import java.util.List;
import java.util.Objects;
import java.util.OptionalInt;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;

/**
 * The servers and GPUs of a lease, as one of the servers sees them. A server takes in its own parts
 * only; the first of the servers is the lease's home, which ends it when its holder is gone or it
 * has reached a limit.
 *
 * @param parts in the order in which the program sees its devices; those of a server together
 * @param servers in the same order
 * @param place of this server among them; null: it has none of the GPUs
 * @param own this server's parts
 */
public record LeaseTopology(
    List<Part> parts, List<String> servers, @Nullable Integer place, List<Part> own) {
  public LeaseTopology {
    parts = List.copyOf(parts);
    servers = List.copyOf(servers);
    own = List.copyOf(own);
  }

  public static LeaseTopology of(List<Part> parts, Members members) {
    List<Part> own = parts.stream().filter(part -> members.isThis(server(part))).toList();
    if (own.size() == parts.size()) {
      return new LeaseTopology(parts, List.of(server(parts.getFirst())), 0, own);
    }
    List<String> servers = parts.stream().map(LeaseTopology::server).distinct().toList();
    Integer place = own.isEmpty() ? null : servers.indexOf(server(own.getFirst()));
    return new LeaseTopology(parts, servers, place, own);
  }

  /** With other shares of the same GPUs. */
  public LeaseTopology with(List<Part> otherParts) {
    List<Part> otherOwn =
        IntStream.range(0, parts.size())
            .filter(part -> ownIndex(part).isPresent())
            .mapToObj(otherParts::get)
            .toList();
    return new LeaseTopology(otherParts, servers, place, otherOwn);
  }

  /** Whether it has GPUs of several servers. */
  public boolean spans() {
    return servers.size() > 1;
  }

  /** Whether its GPUs are others' alone. */
  public boolean isRemote() {
    return own.isEmpty();
  }

  /** Whether this server is the first of it. */
  public boolean isHome() {
    return Objects.equals(place, 0);
  }

  public String home() {
    return servers.getFirst();
  }

  /** How many of its GPUs a server has. */
  public int gpusOf(String server) {
    return own.size() == parts.size()
        ? own.size()
        : (int) parts.stream().filter(part -> server(part).equals(server)).count();
  }

  /** Where a part is among this server's own; empty: it is another's. */
  public OptionalInt ownIndex(int part) {
    int index = own.indexOf(parts.get(part));
    return index < 0 ? OptionalInt.empty() : OptionalInt.of(index);
  }

  private static String server(Part part) {
    return part.gpu().server();
  }
}
