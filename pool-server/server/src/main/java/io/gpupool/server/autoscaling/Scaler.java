// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.autoscaling;

import java.util.Comparator;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * A pure function that decides how many servers a pool needs, from its servers, the waiting
 * requests and the last decision.
 *
 * <p>Servers are added at once for requests that have waited long enough. They are removed as a set
 * of numbered pods shrinks, the highest number first: a server with a lease keeps all those before
 * it, and only those after the last one needed can go. A recent change stands for a while.
 */
final class Scaler {
  private static final Comparator<ServerLoad> ORDER =
      Comparator.<ServerLoad, String>comparing(server -> word(server.name()))
          .thenComparing(server -> number(server.name()).length())
          .thenComparing(server -> number(server.name()));

  private Scaler() {}

  static ScalingTarget next(
      @Nullable ScalingTarget before, PoolLoad load, ScalingPolicy policy, long nowMillis) {
    List<ServerLoad> servers =
        load.servers().stream()
            .filter(server -> server.name().startsWith(policy.servers()))
            .sorted(ORDER)
            .toList();
    List<PendingRequest> waiting =
        load.waiting().stream().filter(demand -> isFor(demand, policy)).toList();
    int missing = missing(servers, waiting, policy);
    int needed = servers.size() + missing;
    if (missing == 0) {
      int kept = kept(servers, policy);
      // Who has just begun to wait may need what is idle, or what is being started.
      needed = waiting.isEmpty() ? kept : Math.max(kept, before == null ? kept : before.servers());
    }
    int wanted = Math.clamp(needed, policy.minServers(), policy.maxServers());
    // A limit that was lowered takes nothing from a lease either.
    wanted = Math.max(wanted, leased(servers));
    if (before == null) {
      return new ScalingTarget(Math.max(wanted, servers.size()), nowMillis);
    }
    boolean tooSoon = nowMillis - before.changedAtMillis() < policy.delays().coolDownMillis();
    if (wanted == before.servers() || (wanted < before.servers() && tooSoon)) {
      return before;
    }
    return new ScalingTarget(wanted, nowMillis);
  }

  /** GPUs of servers that have no lease, and so could serve anything. */
  private static int ready(List<ServerLoad> servers) {
    return servers.stream()
        .filter(server -> server.open() && !server.leased())
        .mapToInt(ServerLoad::gpus)
        .sum();
  }

  /** How many servers to add. */
  private static int missing(
      List<ServerLoad> servers, List<PendingRequest> waiting, ScalingPolicy policy) {
    double gpus =
        waiting.stream()
            .filter(demand -> demand.waitedMillis() >= policy.delays().scaleOutMillis())
            .mapToDouble(PendingRequest::gpus)
            .sum();
    double lacking = gpus + Math.max(0, policy.headroomGpus() - ready(servers));
    int each =
        policy.gpusPerServer() > 0
            ? policy.gpusPerServer()
            : servers.stream().mapToInt(ServerLoad::gpus).max().orElse(1);
    return (int) Math.min(Integer.MAX_VALUE / 2, Math.ceil(lacking / Math.max(1, each) - 1e-9));
  }

  /** How many of the first servers are needed as things are. */
  private static int kept(List<ServerLoad> servers, ScalingPolicy policy) {
    int kept = servers.size();
    int ready = ready(servers);
    while (kept > 0) {
      ServerLoad last = servers.get(kept - 1);
      boolean idleForLong =
          !last.leased() && (!last.open() || last.idleMillis() >= policy.delays().scaleInMillis());
      int readyWithout = ready - (last.open() ? last.gpus() : 0);
      if (!idleForLong || (last.open() && readyWithout < policy.headroomGpus())) {
        break;
      }
      ready = readyWithout;
      kept--;
    }
    return kept;
  }

  /** How many of the first servers have to stay so that all with leases do. */
  private static int leased(List<ServerLoad> servers) {
    int leased = servers.size();
    while (leased > 0 && !servers.get(leased - 1).leased()) {
      leased--;
    }
    return leased;
  }

  private static boolean isFor(PendingRequest demand, ScalingPolicy policy) {
    return policy.model().isEmpty()
        || demand.model().isEmpty()
        || demand.model().equalsIgnoreCase(policy.model());
  }

  private static String word(String name) {
    return name.substring(0, wordLength(name));
  }

  private static String number(String name) {
    return name.substring(wordLength(name));
  }

  private static int wordLength(String name) {
    int length = name.length();
    while (length > 0 && Character.isDigit(name.charAt(length - 1))) {
      length--;
    }
    return length;
  }
}
