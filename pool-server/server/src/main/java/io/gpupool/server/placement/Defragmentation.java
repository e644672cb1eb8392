// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.placement;

import io.gpupool.server.gpu.Gpu;
import io.gpupool.server.gpu.Share;
import io.gpupool.server.placement.Placement.Offer;
import io.gpupool.server.placement.Placement.Part;
import io.gpupool.server.select.Selection;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import java.util.function.BiPredicate;

/**
 * The fewest moves of leases after which a GPU has room for a request that none has room for now,
 * and of as few moves those of the least memory. A pure function over a snapshot of what is free.
 *
 * <p>It looks at the GPUs that lack least and at the largest leases on them, and moves no lease to
 * make room for another that moves.
 */
public final class Defragmentation {
  /** The most leases that move for one request. */
  public static final int MAX_MOVES = 3;

  private static final int MAX_GPUS = 8;
  private static final int MAX_LEASES_OF_A_GPU = 12;
  private static final int MAX_TARGETS = 32;

  private final List<Offer> snapshot;
  private final List<LeasePart> movable;
  private final BiPredicate<Gpu, Gpu> canMove;

  /**
   * A snapshot of a pool.
   *
   * @param snapshot of the GPUs that are open to new leases
   * @param movable the leases that can move
   * @param canMove whether a lease of one GPU can go on with another
   */
  public Defragmentation(
      List<Offer> snapshot, List<LeasePart> movable, BiPredicate<Gpu, Gpu> canMove) {
    this.snapshot = List.copyOf(snapshot);
    this.movable = List.copyOf(movable);
    this.canMove = canMove;
  }

  /** A lease of one GPU. */
  public record LeasePart(LeaseId lease, String tenant, Part part) {
    private Share share() {
      return part.share();
    }
  }

  /** A lease that is to move to a GPU. */
  public record Move(LeaseId lease, Gpu to) {}

  /** An offer, and its shortfall for a request. */
  private record Gap(Offer offer, Share lacking) {
    /** The part of the offer that is lacking; the larger of memory and compute. */
    double part() {
      return Math.max(
          (double) lacking.memoryBytes() / Math.max(1, offer.whole().memoryBytes()),
          (double) lacking.computeBasisPoints() / offer.whole().computeBasisPoints());
    }
  }

  /** The leases that can move away from an offer, the largest first, and the offers for them. */
  private record Choice(Share lacking, List<LeasePart> leases, List<Offer> targets) {}

  /** Moves that make room. */
  private record Plan(List<Move> moves, long memoryBytes) {}

  /** Returns the moves for a request that has no room; empty: none make room for it. */
  public List<Move> plan(GpuRequirements requirements, String tenant) {
    if (requirements.gpus() != 1) {
      return List.of();
    }
    List<Choice> choices = choices(requirements, tenant);
    for (int count = 1; count <= MAX_MOVES; count++) {
      int moves = count;
      Optional<Plan> best =
          choices.stream()
              .flatMap(choice -> plans(choice, moves).stream())
              .min(Comparator.comparingLong(Plan::memoryBytes));
      if (best.isPresent()) {
        return best.get().moves();
      }
    }
    return List.of();
  }

  /** Returns those of the offers that lack least. */
  private List<Choice> choices(GpuRequirements requirements, String tenant) {
    Selection selection = new Selection(requirements.selectors());
    return snapshot.stream()
        .filter(offer -> offer.suits(requirements, tenant, selection))
        .filter(offer -> offer.canEverServe(requirements))
        .map(offer -> new Gap(offer, requirements.shareOf(offer).less(offer.free())))
        .sorted(Comparator.comparingDouble(Gap::part))
        .limit(MAX_GPUS)
        .map(gap -> new Choice(gap.lacking(), leasesOn(gap.offer()), targets(gap.offer())))
        .toList();
  }

  private List<LeasePart> leasesOn(Offer offer) {
    return movable.stream()
        .filter(lease -> offer.holds(lease.part()))
        .sorted(byMemory().reversed())
        .limit(MAX_LEASES_OF_A_GPU)
        .toList();
  }

  private static Comparator<LeasePart> byMemory() {
    return Comparator.comparingLong(lease -> lease.share().memoryBytes());
  }

  /** Returns the offers to which leases on an offer can move, those with most memory first. */
  private List<Offer> targets(Offer from) {
    return snapshot.stream()
        .filter(offer ->
            !offer.gpu().equals(from.gpu())
                && Objects.equals(offer.partition(), from.partition())
                && canMove.test(from.gpu(), offer.gpu()))
        .sorted(Comparator.comparingLong((Offer offer) -> -offer.free().memoryBytes()))
        .limit(MAX_TARGETS)
        .toList();
  }

  /** Returns the plans of exactly so many moves. */
  private static List<Plan> plans(Choice of, int count) {
    List<Plan> found = new ArrayList<>();
    choose(of.leases(), count, of.lacking(), List.of(), of.targets(), found);
    return found;
  }

  /** Adds every choice of so many of the leases that frees what is lacking. */
  private static void choose(
      List<LeasePart> leases,
      int count,
      Share lacking,
      List<LeasePart> chosen,
      List<Offer> targets,
      List<Plan> found) {
    if (count == 0) {
      if (lacking.equals(Share.NONE)) {
        place(chosen, targets).ifPresent(found::add);
      }
      return;
    }
    for (int i = 0; i + count <= leases.size(); i++) {
      List<LeasePart> more = new ArrayList<>(chosen);
      more.add(leases.get(i));
      choose(
          leases.subList(i + 1, leases.size()),
          count - 1,
          lacking.less(leases.get(i).share()),
          more,
          targets,
          found);
    }
  }

  /** Finds a place for each lease, the largest first, where least is left behind it. */
  private static Optional<Plan> place(List<LeasePart> leases, List<Offer> targets) {
    List<Offer> left = new ArrayList<>(targets);
    List<Move> moves = new ArrayList<>();
    for (LeasePart lease : leases) {
      Optional<Offer> target =
          left.stream()
              .filter(offer -> offer.free().covers(lease.share()) && offer.isFor(lease.tenant()))
              .min(Comparator.comparingLong(offer -> offer.free().memoryBytes()));
      if (target.isEmpty()) {
        return Optional.empty();
      }
      left.set(left.indexOf(target.get()), target.get().without(lease.share()));
      moves.add(new Move(lease.lease(), target.get().gpu()));
    }
    return Optional.of(
        new Plan(moves, leases.stream().mapToLong(lease -> lease.share().memoryBytes()).sum()));
  }
}
