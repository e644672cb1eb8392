// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.placement;

import io.gpupool.server.gpu.Gpu;
import io.gpupool.server.gpu.Share;
import io.gpupool.server.rejection.RejectionReason;
import io.gpupool.server.select.Selection;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/**
 * A pure function that decides which GPUs serve a request, over a snapshot of what is free. Offers
 * reserved for the tenant come before those open to all; {@link Candidates} has the rest.
 */
public final class Placement {
  private Placement() {}

  /**
   * What can be granted from.
   *
   * @param partition of the GPU; null: what is in none
   * @param whole what it has when nothing is granted
   * @param free what can be granted now
   * @param tenants who may have it; empty: all
   */
  public record Offer(
      Gpu gpu,
      @Nullable String partition,
      Share whole,
      Share free,
      boolean hard,
      Set<String> tenants) {
    public static Offer ofRest(Gpu gpu, Share whole, Share free) {
      return new Offer(gpu, null, whole, free, false, Set.of());
    }

    static Offer of(Gpu gpu, Partition partition, Share free) {
      return new Offer(
          gpu, partition.name(), partition.limit(), free, partition.hard(), partition.tenants());
    }

    /** Whether a tenant's request may be served from it, if it is large enough. */
    public boolean suits(GpuRequirements requirements, String tenant, Selection selection) {
      return selection.accepts(gpu)
          // A process sees one slice of a card at a time.
          && (requirements.gpus() == 1 || !gpu.isSlice())
          && (requirements.partition() == null
              || Objects.equals(requirements.partition(), partition))
          && isFor(tenant);
    }

    /** Whether a tenant may have it. */
    boolean isFor(String tenant) {
      return tenants.isEmpty() || tenants.contains(tenant);
    }

    public boolean canEverServe(GpuRequirements requirements) {
      return whole.covers(requirements.shareOf(this));
    }

    public boolean holds(Part part) {
      return gpu.equals(part.gpu) && Objects.equals(partition, part.partition);
    }

    public Offer without(Share share) {
      return new Offer(gpu, partition, whole, free.minus(share), hard, tenants);
    }

    /** Returns a part of it, as rejection reasons name it. */
    public RejectionReason.GpuPart part(Share share) {
      return new RejectionReason.GpuPart(
          gpu.server(),
          gpu.ordinal(),
          gpu.name(),
          gpu.computeCapability(),
          Objects.requireNonNullElse(partition, ""),
          share.memoryBytes(),
          share.computePercent());
    }
  }

  /** One GPU's part of a granted request. */
  public record Part(Gpu gpu, @Nullable String partition, Share share, boolean hard) {
    /** The parts of a lease as messages show them. */
    public static String describe(List<Part> parts) {
      return parts.stream().map(Part::describe).collect(Collectors.joining(", "));
    }

    private String describe() {
      return share
          + " of "
          + Optional.ofNullable(partition).map(name -> "partition '" + name + "' of ").orElse("")
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

    /** No GPU of the pool could ever serve it. */
    record Unsatisfiable(RejectionReason reason) implements Outcome {}

    /** It has to wait for others; {@code best} is the offer that comes closest of how many GPUs. */
    record NoCapacity(Offer best, int fitting) implements Outcome {}
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
      return new Outcome.Unsatisfiable(noneSuits(requirements, snapshot));
    }
    int most = Candidates.mostOf(able.values().stream(), requirements.maxServers());
    if (most >= requirements.gpus()) {
      return new Outcome.NoCapacity(closest(requirements, tenant, selection, snapshot), fitting);
    }
    return new Outcome.Unsatisfiable(
        most == 0
            ? tooLarge(suiting(requirements, tenant, snapshot))
            : tooFew(requirements, most, able));
  }

  private static RejectionReason tooFew(
      GpuRequirements requirements, int most, Map<String, Integer> able) {
    int servers = able.size() <= requirements.maxServers() ? 0 : requirements.maxServers();
    return new RejectionReason.TooFewGpus(most, servers, requirements.oneServer());
  }

  private static List<Offer> suiting(
      GpuRequirements requirements, String tenant, List<Offer> snapshot) {
    Selection selection = new Selection(requirements.selectors());
    return snapshot.stream().filter(o -> o.suits(requirements, tenant, selection)).toList();
  }

  private static RejectionReason tooLarge(List<Offer> suiting) {
    Offer largest =
        suiting.stream().max(Comparator.comparingLong(o -> o.whole().memoryBytes())).orElseThrow();
    boolean isRest = largest.partition() == null && !largest.whole().equals(largest.gpu().whole());
    return new RejectionReason.TooLarge(largest.part(largest.whole()), isRest);
  }

  private static RejectionReason noneSuits(GpuRequirements requirements, List<Offer> snapshot) {
    if (snapshot.isEmpty()) {
      return new RejectionReason.EmptyPool();
    }
    if (requirements.partition() != null) {
      return new RejectionReason.NoPartition(requirements.partition());
    }
    Selection selection = new Selection(requirements.selectors());
    List<Gpu> matching =
        snapshot.stream().map(Offer::gpu).filter(selection::accepts).distinct().toList();
    if (requirements.gpus() > 1
        && !matching.isEmpty()
        && matching.stream().allMatch(Gpu::isSlice)) {
      return new RejectionReason.SlicesOnly();
    }
    Gpu example = snapshot.getFirst().gpu();
    return !matching.isEmpty()
        ? new RejectionReason.ReservedForOthers()
        : new RejectionReason.NoMatch(
            requirements.selectorTexts(),
            Offer.ofRest(example, example.whole(), example.whole()).part(example.whole()));
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
