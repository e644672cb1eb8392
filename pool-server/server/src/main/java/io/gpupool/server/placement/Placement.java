// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.placement;

import io.gpupool.server.gpu.Gpu;
import io.gpupool.server.gpu.Share;
import io.gpupool.server.select.Selection;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.stream.Collectors;

/**
 * A pure function that decides which GPUs serve a request, over a snapshot of what is free. Offers
 * reserved for the tenant come before those open to all; {@link Candidates} has the rest.
 */
public final class Placement {
  private Placement() {}

  /**
   * What can be granted from.
   *
   * @param partition of the GPU; empty: what is in none
   * @param whole what it has when nothing is granted
   * @param free what can be granted now
   * @param tenants who may have it; empty: all
   */
  public record Offer(
      Gpu gpu,
      Optional<String> partition,
      Share whole,
      Share free,
      boolean hard,
      Set<String> tenants) {
    public static Offer ofRest(Gpu gpu, Share whole, Share free) {
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
    public boolean suits(GpuRequirements requirements, String tenant, Selection selection) {
      return selection.accepts(gpu)
          // A process sees one slice of a card at a time.
          && (requirements.gpus() == 1 || !gpu.isSlice())
          && (requirements.partition().isEmpty() || requirements.partition().equals(partition))
          && (tenants.isEmpty() || tenants.contains(tenant));
    }

    public boolean canEverServe(GpuRequirements requirements) {
      return whole.covers(requirements.shareOf(this));
    }

    public boolean holds(Part part) {
      return gpu.equals(part.gpu) && partition.equals(part.partition);
    }

    public Offer without(Share share) {
      return new Offer(gpu, partition, whole, free.minus(share), hard, tenants);
    }

    /** How messages name it. */
    public String label() {
      return partition.map(name -> "partition '" + name + "' of ").orElse("") + gpu.label();
    }
  }

  /** One GPU's part of a granted request. */
  public record Part(Gpu gpu, Optional<String> partition, Share share, boolean hard) {
    /** The parts of a lease as messages show them. */
    public static String describe(List<Part> parts) {
      return parts.stream().map(Part::describe).collect(Collectors.joining(", "));
    }

    private String describe() {
      return share
          + " of "
          + partition.map(name -> "partition '" + name + "' of ").orElse("")
          + gpu.label()
          + (hard ? " (hard)" : "");
    }
  }

  /** What became of a request. */
  public sealed interface Outcome {
    /**
     * The parts are on different GPUs, in the order in which the program will see them; those of a
     * server follow each other.
     */
    record Placed(List<Part> parts) implements Outcome {}

    /**
     * No GPU of the pool could ever serve it.
     *
     * @param tooLarge whether one could serve a smaller share
     */
    record Impossible(String reason, boolean tooLarge) implements Outcome {}

    /** It has to wait for others; {@code best} is the offer that comes closest of how many GPUs. */
    record Full(Offer best, int fitting) implements Outcome {}
  }

  /**
   * Decides.
   *
   * @param snapshot of which the offers of one GPU follow each other, and the GPUs of one server
   */
  public static Outcome place(GpuRequirements requirements, String tenant, List<Offer> snapshot) {
    Selection selection = new Selection(requirements.selectors());
    Candidates candidates = new Candidates(requirements, snapshot);
    Share least = requirements.least();
    for (int i = 0; i < snapshot.size(); i++) {
      Offer offer = snapshot.get(i);
      // In a pool that is in use most have no room, and more need not be looked at of those.
      if (offer.free().covers(least) && offer.suits(requirements, tenant, selection)) {
        Share share = requirements.shareOf(offer);
        if (offer.free().covers(share) && offer.whole().covers(share)) {
          candidates.add(i, share);
        }
      }
    }
    if (candidates.gpus() < requirements.gpus()) {
      return explainRejection(requirements, tenant, selection, snapshot, candidates.gpus());
    }
    return new Outcome.Placed(
        candidates.choose().stream()
            .map(o ->
                new Part(
                    o.gpu(),
                    o.partition(),
                    requirements.shareOf(o),
                    o.hard() || requirements.hard()))
            .toList());
  }

  private static Outcome explainRejection(
      GpuRequirements requirements,
      String tenant,
      Selection selection,
      List<Offer> snapshot,
      int fitting) {
    boolean suits = false;
    Map<String, Integer> able = new HashMap<>();
    Gpu lastAble = null;
    for (Offer offer : snapshot) {
      if (offer.gpu() != lastAble && offer.suits(requirements, tenant, selection)) {
        suits = true;
        if (offer.canEverServe(requirements)) {
          lastAble = offer.gpu();
          able.merge(lastAble.server(), 1, Integer::sum);
        }
      }
    }
    if (!suits) {
      return new Outcome.Impossible(noneSuits(requirements, snapshot), false);
    }
    int most = Candidates.mostOf(able.values().stream(), requirements.maxServers());
    if (most >= requirements.gpus()) {
      return new Outcome.Full(closest(requirements, tenant, selection, snapshot), fitting);
    }
    return new Outcome.Impossible(
        most == 0
            ? tooLarge(suiting(requirements, tenant, snapshot))
            : tooFew(requirements, most, able),
        most == 0);
  }

  private static String tooFew(GpuRequirements requirements, int most, Map<String, Integer> able) {
    String gpus = most + (most == 1 ? " GPU" : " GPUs");
    if (able.size() <= requirements.maxServers()) {
      return "only " + gpus + " can serve it";
    }
    return requirements.oneServer()
        ? "no server has more than " + gpus + " that can serve it, and it asks for one server"
        : "only " + gpus + " of any " + requirements.maxServers() + " servers can serve it";
  }

  private static List<Offer> suiting(
      GpuRequirements requirements, String tenant, List<Offer> snapshot) {
    Selection selection = new Selection(requirements.selectors());
    return snapshot.stream().filter(o -> o.suits(requirements, tenant, selection)).toList();
  }

  private static String tooLarge(List<Offer> suiting) {
    Offer largest =
        suiting.stream().max(Comparator.comparingLong(o -> o.whole().memoryBytes())).orElseThrow();
    return largest.whole().equals(largest.gpu().whole())
        ? "the largest GPU that matches is " + largest.gpu().describe()
        : "the largest that matches is "
            + largest.whole()
            + (largest.partition().isPresent() ? " in " : " outside the partitions of ")
            + largest.label();
  }

  private static String noneSuits(GpuRequirements requirements, List<Offer> snapshot) {
    if (snapshot.isEmpty()) {
      return "the pool has no GPUs";
    }
    if (requirements.partition().isPresent()) {
      return "no GPU that matches has a partition '"
          + requirements.partition().get()
          + "' that this tenant may use";
    }
    Selection selection = new Selection(requirements.selectors());
    List<Gpu> matching =
        snapshot.stream().map(Offer::gpu).filter(selection::accepts).distinct().toList();
    if (requirements.gpus() > 1
        && !matching.isEmpty()
        && matching.stream().allMatch(Gpu::isSlice)) {
      return "what matches are slices of cards (MIG), of which a program can use one; ask for one";
    }
    return !matching.isEmpty()
        ? "what matches is reserved for other tenants"
        : "no GPU matches; the pool has for example " + snapshot.getFirst().gpu().describe();
  }

  /** Of those that could ever serve it, the one that has most of what is asked for. */
  private static Offer closest(
      GpuRequirements requirements, String tenant, Selection selection, List<Offer> snapshot) {
    Offer best = snapshot.getFirst();
    double most = -1;
    double leastCompute = requirements.least().computeBasisPoints();
    for (Offer offer : snapshot) {
      Share free = offer.free();
      if (free.computeBasisPoints() / leastCompute <= most
          || !offer.suits(requirements, tenant, selection)) {
        continue;
      }
      Share share = requirements.shareOf(offer);
      double part =
          Math.min(
              (double) free.memoryBytes() / Math.max(1, share.memoryBytes()),
              (double) free.computeBasisPoints() / share.computeBasisPoints());
      if (part > most && offer.whole().covers(share)) {
        most = part;
        best = offer;
      }
    }
    return best;
  }
}
