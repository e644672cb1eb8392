// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;

/**
 * Decides which GPUs serve a request: a pure function over a snapshot of what is free. Packs: takes
 * the fullest GPUs that still fit, and one server for all GPUs of a request where one can; what is
 * reserved for a tenant before what all may have.
 */
final class Placement {
  private Placement() {}

  /**
   * What can be granted from.
   *
   * @param partition of the GPU; empty: what is in none
   * @param whole what it has when nothing is granted
   * @param free what can be granted now
   * @param tenants who may have it; empty: all
   */
  record Offer(
      Gpu gpu,
      Optional<String> partition,
      Share whole,
      Share free,
      boolean hard,
      Set<String> tenants) {
    static Offer ofRest(Gpu gpu, Share whole, Share free) {
      return new Offer(gpu, Optional.empty(), whole, free, false, Set.of());
    }

    static Offer of(Gpu gpu, Partition partition, Share free) {
      return new Offer(
          gpu,
          Optional.of(partition.name()),
          partition.limit(),
          free,
          partition.hard(),
          partition.tenants());
    }

    /** Whether a tenant's request may be served from it, if it is large enough. */
    boolean suits(Ask ask, String tenant) {
      return gpu.matches(ask.selectors())
          && (ask.partition().isEmpty() || ask.partition().equals(partition))
          && (tenants.isEmpty() || tenants.contains(tenant));
    }

    boolean canEverServe(Ask ask) {
      return whole.covers(ask.shareOf(this));
    }

    private boolean fits(Ask ask) {
      return free.covers(ask.shareOf(this));
    }

    boolean holds(Part part) {
      return gpu.equals(part.gpu) && partition.equals(part.partition);
    }

    Offer without(Share share) {
      return new Offer(gpu, partition, whole, free.minus(share), hard, tenants);
    }

    /** How messages name it. */
    String label() {
      return partition.map(name -> "partition '" + name + "' of ").orElse("") + gpu.label();
    }
  }

  /** One GPU's part of a granted request. */
  record Part(Gpu gpu, Optional<String> partition, Share share, boolean hard) {}

  /** What became of a request. */
  sealed interface Outcome {
    /** The parts are on different GPUs, in the order in which the program will see them. */
    record Placed(List<Part> parts) implements Outcome {}

    /** No GPU of the pool could ever serve it. */
    record Impossible(String reason) implements Outcome {}

    /** It has to wait for others; {@code best} is the offer that comes closest of how many GPUs. */
    record Full(Offer best, int fitting) implements Outcome {}
  }

  static Outcome place(Ask ask, String tenant, List<Offer> snapshot) {
    List<Offer> suiting = snapshot.stream().filter(o -> o.suits(ask, tenant)).toList();
    if (suiting.isEmpty()) {
      return new Outcome.Impossible(noneSuits(ask, snapshot));
    }
    List<Offer> large = suiting.stream().filter(o -> o.canEverServe(ask)).toList();
    if (large.isEmpty()) {
      Offer largest =
          suiting.stream()
              .max(Comparator.comparingLong(o -> o.whole().memoryBytes()))
              .orElseThrow();
      return new Outcome.Impossible(
          (largest.whole().equals(largest.gpu().whole())
                  ? "the largest GPU that matches is " + largest.gpu().describe()
                  : "the largest that matches is "
                      + largest.whole()
                      + (largest.partition().isPresent() ? " in " : " outside the partitions of ")
                      + largest.label())
              + "; ask for less (-m or -p)");
    }
    long able = gpus(large);
    if (able < ask.gpus()) {
      return new Outcome.Impossible(
          "only " + able + (able == 1 ? " GPU" : " GPUs") + " can serve it");
    }
    List<Offer> fitting = large.stream().filter(o -> o.fits(ask)).toList();
    if (gpus(fitting) < ask.gpus()) {
      return new Outcome.Full(closest(ask, large), (int) gpus(fitting));
    }
    return new Outcome.Placed(
        choose(ask, fitting).stream()
            .map(o -> new Part(o.gpu(), o.partition(), ask.shareOf(o), o.hard() || ask.hard()))
            .toList());
  }

  private static String noneSuits(Ask ask, List<Offer> snapshot) {
    if (snapshot.isEmpty()) {
      return "the pool has no GPUs";
    }
    if (ask.partition().isPresent()) {
      return "no GPU that matches has a partition '"
          + ask.partition().get()
          + "' that this tenant may use";
    }
    return snapshot.stream().anyMatch(o -> o.gpu().matches(ask.selectors()))
        ? "what matches is reserved for other tenants"
        : "no GPU matches; the pool has for example " + snapshot.getFirst().gpu().describe();
  }

  private static long gpus(List<Offer> offers) {
    return offers.stream().map(Offer::gpu).distinct().count();
  }

  private static List<Offer> choose(Ask ask, List<Offer> fitting) {
    Comparator<Offer> fullestFirst =
        Comparator.<Offer>comparingInt(o -> o.tenants().isEmpty() ? 1 : 0)
            .thenComparingDouble(o -> leftOver(ask, o))
            .thenComparing(o -> o.gpu().server())
            .thenComparingInt(o -> o.gpu().ordinal());
    Map<String, List<Offer>> servers = new LinkedHashMap<>();
    Set<Gpu> chosen = new HashSet<>();
    fitting.stream()
        .sorted(fullestFirst)
        .filter(o -> chosen.add(o.gpu()))
        .forEach(o -> servers.computeIfAbsent(o.gpu().server(), s -> new ArrayList<>()).add(o));
    Optional<List<Offer>> single =
        servers.values().stream()
            .filter(offers -> offers.size() >= ask.gpus())
            .map(offers -> offers.subList(0, ask.gpus()))
            .min(
                Comparator.comparingDouble(
                    offers -> offers.stream().mapToDouble(o -> leftOver(ask, o)).sum()));
    return single.orElseGet(() ->
        servers.values().stream()
            .sorted(Comparator.comparingInt((List<Offer> offers) -> -offers.size()))
            .flatMap(List::stream)
            .limit(ask.gpus())
            .toList());
  }

  /** What part of the GPU stays free behind the grant; the larger of memory and compute. */
  private static double leftOver(Ask ask, Offer offer) {
    Share left = offer.free().minus(ask.shareOf(offer));
    return Math.max(
        (double) left.memoryBytes() / offer.gpu().memoryBytes(),
        (double) left.computeBasisPoints() / Share.WHOLE_COMPUTE);
  }

  private static Offer closest(Ask ask, List<Offer> large) {
    return large.stream()
        .max(
            Comparator.comparingDouble(o ->
                Math.min(
                    (double) o.free().memoryBytes() / Math.max(1, ask.shareOf(o).memoryBytes()),
                    (double) o.free().computeBasisPoints() / ask.shareOf(o).computeBasisPoints())))
        .orElseThrow();
  }
}
