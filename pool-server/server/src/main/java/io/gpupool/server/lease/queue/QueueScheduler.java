// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.lease.queue;

import io.gpupool.server.placement.GpuRequirements;
import io.gpupool.server.placement.Placement;
import io.gpupool.server.placement.Placement.Offer;
import io.gpupool.server.placement.Placement.Outcome;
import io.gpupool.server.placement.Placement.Part;
import io.gpupool.server.records.ResourceUsage;
import io.gpupool.server.rejection.RejectionReason;
import io.gpupool.server.select.Selection;
import io.gpupool.server.tenant.QuotaUsage;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.TimeUnit;

/**
 * The scheduler of the lease queue: a pure function of the queued requests and of what is free.
 *
 * <p>Priority comes first, then age; but waiting counts as priority does, so that a stream of more
 * important requests starves nobody. A request that does not fit lets others pass, for a while:
 * then the GPUs that could serve it are kept for it, so that small requests cannot starve a large
 * one.
 */
final class QueueScheduler {
  /** The waiting that a point of priority is worth. */
  static final long POINT_NANOS = TimeUnit.SECONDS.toNanos(6);

  /** How long a request lets others pass. */
  static final long RESERVATION_DELAY_NANOS = TimeUnit.SECONDS.toNanos(60);

  private static final Comparator<QueuedRequest> ORDER =
      Comparator.comparingLong(QueueScheduler::rankNanos).thenComparingLong(QueuedRequest::number);

  private QueueScheduler() {}

  /** The part of a request that decides the answer it gets. */
  private record Wanted(GpuRequirements requirements, String tenant) {}

  /** What is to become of one that waits. */
  sealed interface Decision {
    QueuedRequest request();

    /** It is its turn. */
    record Grant(QueuedRequest request, List<Part> parts) implements Decision {}

    /** There is no room for it. */
    record NoCapacity(QueuedRequest request, Outcome.NoCapacity noCapacity) implements Decision {}

    /** There would be room, which is kept for one that has waited long. */
    record Reserved(QueuedRequest request, QueuedRequest first) implements Decision {}

    /**
     * Its tenant holds too much.
     *
     * @param isForever whether it would be too much without all the tenant holds
     */
    record OverQuota(QueuedRequest request, RejectionReason reason, boolean isForever)
        implements Decision {}

    /** It can never be served. */
    record Unsatisfiable(QueuedRequest request, RejectionReason reason) implements Decision {}
  }

  /** Decides for all that wait; the turns come in the order of their places in the queue. */
  static List<Decision> decide(
      Collection<QueuedRequest> all, List<Offer> snapshot, QuotaUsage budgets, long nowNanos) {
    List<Offer> free = new ArrayList<>(snapshot);
    List<QueuedRequest> reservations = new ArrayList<>();
    QuotaUsage left = budgets;
    List<Decision> turns = new ArrayList<>();
    // What finds no room finds none later on, either, for nothing becomes free here.
    Map<Wanted, Outcome.NoCapacity> noCapacity = new HashMap<>();
    for (QueuedRequest request : all.stream().sorted(ORDER).toList()) {
      Wanted wanted = new Wanted(request.spec().requirements(), request.spec().tenant());
      Decision decision =
          noCapacity.containsKey(wanted)
              ? new Decision.NoCapacity(request, noCapacity.get(wanted))
              : turn(request, free, reservations, left);
      turns.add(decision);
      if (decision instanceof Decision.NoCapacity later) {
        noCapacity.put(wanted, later.noCapacity());
      }
      if (decision instanceof Decision.Grant now) {
        now.parts().forEach(part -> free.replaceAll(offer -> without(offer, part)));
        left = left.with(request.spec().tenant(), ResourceUsage.of(now.parts()));
      } else if (decision instanceof Decision.NoCapacity
          && nowNanos - request.sinceNanos() >= RESERVATION_DELAY_NANOS) {
        reservations.add(request);
      }
    }
    return turns;
  }

  private static Decision turn(
      QueuedRequest request,
      List<Offer> free,
      List<QueuedRequest> reservations,
      QuotaUsage budgets) {
    if (!reservations.isEmpty()
        && Placement.place(
                request.spec().requirements(),
                request.spec().tenant(),
                unreserved(free, reservations))
            instanceof Outcome.Placed(List<Part> parts)) {
      return within(budgets, request, parts).orElseGet(() -> new Decision.Grant(request, parts));
    }
    return switch (Placement.place(request.spec().requirements(), request.spec().tenant(), free)) {
      case Outcome.Placed(List<Part> parts) ->
          within(budgets, request, parts)
              .orElseGet(() ->
                  reservations.isEmpty()
                      ? new Decision.Grant(request, parts)
                      : new Decision.Reserved(request, reservations.getFirst()));
      case Outcome.NoCapacity noCapacity -> new Decision.NoCapacity(request, noCapacity);
      case Outcome.Unsatisfiable(RejectionReason reason) ->
          new Decision.Unsatisfiable(request, reason);
    };
  }

  private static Optional<Decision> within(
      QuotaUsage budgets, QueuedRequest request, List<Part> parts) {
    ResourceUsage use = ResourceUsage.of(parts);
    return budgets
        .rejectionReason(request.spec().tenant(), use)
        .map(reason ->
            new Decision.OverQuota(
                request, reason, budgets.neverAllows(request.spec().tenant(), use)));
  }

  /** What is not kept for others. */
  private static List<Offer> unreserved(List<Offer> free, List<QueuedRequest> reservations) {
    List<Offer> unreserved = free;
    for (QueuedRequest other : reservations) {
      Selection selection = new Selection(other.spec().requirements().selectors());
      unreserved =
          unreserved.stream()
              .filter(offer ->
                  !offer.suits(other.spec().requirements(), other.spec().tenant(), selection)
                      || !offer.canEverServe(other.spec().requirements()))
              .toList();
    }
    return unreserved;
  }

  private static Offer without(Offer offer, Part part) {
    return offer.holds(part) ? offer.without(part.share()) : offer;
  }

  private static long rankNanos(QueuedRequest request) {
    return request.sinceNanos() - request.spec().priority() * POINT_NANOS;
  }
}
