// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.lease;

import io.gpupool.server.placement.GpuRequirements;
import io.gpupool.server.placement.Placement;
import io.gpupool.server.placement.Placement.Offer;
import io.gpupool.server.placement.Placement.Outcome;
import io.gpupool.server.placement.Placement.Part;
import io.gpupool.server.records.ResourceUsage;
import io.gpupool.server.select.Selection;
import io.gpupool.server.tenant.Budgets;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.TimeUnit;

/**
 * Scheduler of the lease queue: a pure function of the pending requests and of what is free.
 *
 * <p>Priority first, then who came first; but waiting counts as priority does, so that nobody waits
 * for ever behind a stream of more important requests. Who does not fit lets others pass, for a
 * while: then the GPUs that could serve it are kept for it, so that small requests cannot keep a
 * large one waiting for ever.
 */
final class QueueScheduler {
  /** The waiting that a point of priority is worth. */
  static final long POINT_NANOS = TimeUnit.SECONDS.toNanos(6);

  /** How long a request lets others pass. */
  static final long PATIENCE_NANOS = TimeUnit.SECONDS.toNanos(60);

  private static final Comparator<Pending> ORDER =
      Comparator.comparingLong(QueueScheduler::countedSinceNanos)
          .thenComparingLong(Pending::number);

  private QueueScheduler() {}

  /**
   * One that waits.
   *
   * @param number in the order in which they came
   * @param tenant on whose account; empty: nobody's
   * @param sinceNanos when it came
   */
  record Pending(long number, GpuRequirements ask, String tenant, int priority, long sinceNanos) {}

  /** What those ask for who get the same answer. */
  private record RequestShape(GpuRequirements ask, String tenant) {}

  /** What is to become of one that waits. */
  sealed interface Decision {
    Pending waiting();

    /** It is its turn. */
    record Grant(Pending waiting, List<Part> parts) implements Decision {}

    /** There is no room for it. */
    record NoCapacity(Pending waiting, Outcome.Full full) implements Decision {}

    /** There would be room, which is kept for one that has waited long. */
    record Reserved(Pending waiting, Pending first) implements Decision {}

    /**
     * Its tenant holds too much.
     *
     * @param ever whether it would be too much without all the tenant holds
     */
    record OverQuota(Pending waiting, String reason, boolean ever) implements Decision {}

    /**
     * It can never be served.
     *
     * @param tooLarge whether a smaller share could be
     */
    record Unsatisfiable(Pending waiting, String reason, boolean tooLarge) implements Decision {}
  }

  /** Decides for all that wait; the turns come in the order of their places in the queue. */
  static List<Decision> decide(
      Collection<Pending> all, List<Offer> snapshot, Budgets budgets, long nowNanos) {
    List<Offer> free = new ArrayList<>(snapshot);
    List<Pending> kept = new ArrayList<>();
    Budgets left = budgets;
    List<Decision> turns = new ArrayList<>();
    // What finds no room finds none later on, either, for nothing becomes free here.
    Map<RequestShape, Outcome.Full> full = new HashMap<>();
    for (Pending waiting : all.stream().sorted(ORDER).toList()) {
      RequestShape wish = new RequestShape(waiting.ask, waiting.tenant);
      Decision decision =
          full.containsKey(wish)
              ? new Decision.NoCapacity(waiting, full.get(wish))
              : turn(waiting, free, kept, left);
      turns.add(decision);
      if (decision instanceof Decision.NoCapacity later) {
        full.put(wish, later.full());
      }
      if (decision instanceof Decision.Grant now) {
        now.parts().forEach(part -> free.replaceAll(offer -> without(offer, part)));
        left = left.with(waiting.tenant, ResourceUsage.of(now.parts()));
      } else if (decision instanceof Decision.NoCapacity
          && nowNanos - waiting.sinceNanos >= PATIENCE_NANOS) {
        kept.add(waiting);
      }
    }
    return turns;
  }

  private static Decision turn(
      Pending waiting, List<Offer> free, List<Pending> kept, Budgets budgets) {
    if (!kept.isEmpty()
        && Placement.place(waiting.ask, waiting.tenant, open(free, kept))
            instanceof Outcome.Placed(List<Part> parts)) {
      return within(budgets, waiting, parts).orElseGet(() -> new Decision.Grant(waiting, parts));
    }
    return switch (Placement.place(waiting.ask, waiting.tenant, free)) {
      case Outcome.Placed(List<Part> parts) ->
          within(budgets, waiting, parts)
              .orElseGet(() ->
                  kept.isEmpty()
                      ? new Decision.Grant(waiting, parts)
                      : new Decision.Reserved(waiting, kept.getFirst()));
      case Outcome.Full full -> new Decision.NoCapacity(waiting, full);
      case Outcome.Impossible(String reason, boolean tooLarge) ->
          new Decision.Unsatisfiable(waiting, reason, tooLarge);
    };
  }

  private static Optional<Decision> within(Budgets budgets, Pending waiting, List<Part> parts) {
    ResourceUsage use = ResourceUsage.of(parts);
    return budgets
        .rejectionReason(waiting.tenant, use)
        .map(reason ->
            new Decision.OverQuota(waiting, reason, budgets.neverAllows(waiting.tenant, use)));
  }

  /** What is not kept for others. */
  private static List<Offer> open(List<Offer> free, List<Pending> kept) {
    List<Offer> open = free;
    for (Pending other : kept) {
      Selection selection = new Selection(other.ask.selectors());
      open =
          open.stream()
              .filter(offer ->
                  !offer.suits(other.ask, other.tenant, selection)
                      || !offer.canEverServe(other.ask))
              .toList();
    }
    return open;
  }

  private static Offer without(Offer offer, Part part) {
    return offer.holds(part) ? offer.without(part.share()) : offer;
  }

  private static long countedSinceNanos(Pending waiting) {
    return waiting.sinceNanos - waiting.priority * POINT_NANOS;
  }
}
