// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.placement;

import io.gpupool.server.gpu.Share;
import io.gpupool.server.placement.Placement.Offer;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Collections;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * The offers that have room for a request, and the choice between them. Gathered in one pass over a
 * snapshot, so that a pool of thousands of servers takes well under a millisecond.
 */
final class Candidates {
  /*
   * Packed: on the GPU of which least is left, and of GPUs that nobody uses one of the server that
   * has fewest of them, so that whole GPUs stay together for those who want several; all of a
   * request on one server where one can; else on as few as possible.
   *
   * Spread: on the GPU of which most is left, on the server of which most is, each GPU of a request
   * on another server for as long as there are any.
   *
   * Either way on no more servers than the request may be, and the GPUs of one server one after the
   * other: the program's devices are numbered in this order, those of a server together.
   */

  private static final Comparator<Candidate> PACKED =
      Comparator.comparingInt(Candidate::rank)
          .thenComparingDouble(Candidate::left)
          .thenComparingInt(Candidate::ordinal);
  private static final Comparator<Candidate> SPREAD =
      Comparator.comparingInt(Candidate::rank)
          .thenComparingDouble(c -> -c.left())
          .thenComparingInt(Candidate::ordinal);

  private final GpuRequirements requirements;
  private final List<Offer> snapshot;
  private final Comparator<Candidate> order;
  private final Map<String, Server> servers = new HashMap<>();
  private @Nullable Server current;
  private int gpus;

  Candidates(GpuRequirements requirements, List<Offer> snapshot) {
    this.requirements = requirements;
    this.snapshot = snapshot;
    order = requirements.spread() ? SPREAD : PACKED;
  }

  /**
   * An offer with room.
   *
   * @param rank what is less goes first, however much of it is left
   * @param left what part of the GPU stays free behind the grant; the larger of memory and compute
   */
  private record Candidate(Offer offer, int rank, double left) {
    int ordinal() {
      return offer.gpu().ordinal();
    }
  }

  /** What there is on one server; what matters only between equals is found out when it does. */
  private final class Server {
    final String name;
    final List<Candidate> candidates = new ArrayList<>();

    /** Where in the snapshot one of its offers is. */
    final int at;

    private double freePart = Double.NaN;

    Server(String name, int at) {
      this.name = name;
      this.at = at;
    }

    List<Offer> offers() {
      int from = at;
      while (from > 0 && isMine(from - 1)) {
        from--;
      }
      int to = at + 1;
      while (to < snapshot.size() && isMine(to)) {
        to++;
      }
      return snapshot.subList(from, to);
    }

    private boolean isMine(int index) {
      return snapshot.get(index).gpu().server().equals(name);
    }

    /** What part of it nobody has. */
    double freePart() {
      if (Double.isNaN(freePart)) {
        freePart =
            offers().stream().mapToInt(o -> o.free().computeBasisPoints()).average().orElse(0);
      }
      return freePart;
    }

    /** Puts the best ones in front. */
    void sort(Comparator<Candidate> order, int count) {
      if (count == 1) {
        int best = candidates.indexOf(Collections.min(candidates, order));
        Collections.swap(candidates, 0, best);
      } else {
        candidates.sort(order);
      }
    }

    int rank(int count) {
      return candidates.get(count - 1).rank;
    }

    double left(int count) {
      double sum = 0;
      for (int i = 0; i < count; i++) {
        sum += candidates.get(i).left;
      }
      return sum;
    }

    /** How many unused GPUs a grant finds; 0 if it is served from others. */
    int broken(int count) {
      for (int i = 0; i < count; i++) {
        if (isUnused(candidates.get(i).offer)) {
          return (int) offers().stream().filter(Candidates::isUnused).count();
        }
      }
      return 0;
    }
  }

  private static boolean isUnused(Offer offer) {
    return offer.free().computeBasisPoints() == Share.WHOLE_COMPUTE
        && offer.free().memoryBytes() == offer.gpu().memoryBytes();
  }

  /** Adds an offer of the snapshot, which has room for this share; in their order. */
  void add(int index, Share share) {
    Offer offer = snapshot.get(index);
    Candidate candidate = new Candidate(offer, rank(offer), left(offer, share));
    List<Candidate> known = server(offer.gpu().server(), index).candidates;
    if (known.isEmpty() || known.getLast().offer.gpu() != offer.gpu()) {
      gpus++;
      known.add(candidate);
    } else if (order.compare(candidate, known.getLast()) < 0) {
      known.set(known.size() - 1, candidate);
    }
  }

  /** How many GPUs have room, on no more servers than the request may be. */
  int gpus() {
    // As many servers as there are GPUs asked for are enough.
    return servers.size() <= requirements.maxServers()
            || requirements.gpus() <= requirements.maxServers()
        ? gpus
        : mostOf(
            servers.values().stream().map(s -> s.candidates.size()), requirements.maxServers());
  }

  /** The sum of the largest ones. */
  static int mostOf(Stream<Integer> sizes, int count) {
    return sizes.sorted(Comparator.reverseOrder()).limit(count).mapToInt(size -> size).sum();
  }

  /** As many offers as are asked for, of different GPUs; there must be enough. */
  List<Offer> choose() {
    Collection<Server> able = servers.values();
    able.forEach(server -> server.sort(order, requirements.gpus()));
    return (requirements.spread() ? spread(able) : packed(able))
        .stream().map(Candidate::offer).toList();
  }

  private List<Candidate> packed(Collection<Server> able) {
    List<Server> rest = new ArrayList<>(able);
    List<Candidate> chosen = new ArrayList<>();
    while (chosen.size() < requirements.gpus()) {
      int missing = requirements.gpus() - chosen.size();
      Server next =
          rest.stream()
              .filter(server -> server.candidates.size() >= missing)
              .min(closest(missing))
              .or(() -> rest.stream().max(Comparator.comparingInt(s -> s.candidates.size())))
              .orElseThrow();
      chosen.addAll(next.candidates.subList(0, Math.min(missing, next.candidates.size())));
      rest.remove(next);
    }
    return chosen;
  }

  private static Comparator<Server> closest(int count) {
    return Comparator.comparingInt((Server server) -> server.rank(count))
        .thenComparingDouble(server -> server.left(count))
        .thenComparingInt(server -> server.broken(count))
        .thenComparing(server -> server.name);
  }

  private List<Candidate> spread(Collection<Server> able) {
    List<Server> emptiestFirst = new ArrayList<>(able);
    emptiestFirst.sort(
        Comparator.comparing((Server server) -> server.candidates.getFirst(), order)
            .thenComparingDouble(server -> -server.freePart())
            .thenComparing(server -> server.name));
    List<Server> chosen = enough(emptiestFirst);
    int[] taken = new int[chosen.size()];
    for (int count = 0, at = 0; count < requirements.gpus(); at = (at + 1) % taken.length) {
      if (taken[at] < chosen.get(at).candidates.size()) {
        taken[at]++;
        count++;
      }
    }
    return IntStream.range(0, taken.length)
        .boxed()
        .flatMap(at -> chosen.get(at).candidates.subList(0, taken[at]).stream())
        .toList();
  }

  /** The first servers, as many as may be, without those that would leave too little room. */
  private List<Server> enough(List<Server> inOrder) {
    if (requirements.gpus() <= requirements.maxServers()) {
      return inOrder.subList(0, Math.min(requirements.gpus(), inOrder.size()));
    }
    List<Server> chosen = new ArrayList<>();
    int room = 0;
    for (int i = 0; i < inOrder.size() && chosen.size() < requirements.maxServers(); i++) {
      Server server = inOrder.get(i);
      int with = room + server.candidates.size();
      int missing = requirements.maxServers() - chosen.size() - 1;
      if (with >= requirements.gpus()
          || with + mostOf(inOrder.stream().skip(i + 1).map(s -> s.candidates.size()), missing)
              >= requirements.gpus()) {
        chosen.add(server);
        room = with;
      }
    }
    return chosen;
  }

  /**
   * Who names no partition and does not ask for hard limits gets them last, for they keep idle time
   * from it.
   */
  private int rank(Offer offer) {
    if (!offer.tenants().isEmpty()) {
      return 0;
    }
    return offer.hard() && !requirements.hard() && requirements.partition() == null ? 2 : 1;
  }

  private static double left(Offer offer, Share share) {
    Share left = offer.free().minus(share);
    return Math.max(
        (double) left.memoryBytes() / offer.gpu().memoryBytes(),
        (double) left.computeBasisPoints() / Share.WHOLE_COMPUTE);
  }

  private Server server(String name, int index) {
    if (current == null || !current.name.equals(name)) {
      current = servers.computeIfAbsent(name, n -> new Server(n, index));
    }
    return current;
  }
}
