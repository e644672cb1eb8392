// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.lease.queue;

import io.gpupool.server.lease.queue.QueueScheduler.Decision;
import io.gpupool.server.lease.queue.QueueScheduler.Pool;
import io.gpupool.server.placement.GpuRequirements;
import io.gpupool.server.placement.Placement;
import io.gpupool.server.placement.Placement.Offer;
import io.gpupool.server.placement.Placement.Outcome;
import io.gpupool.server.placement.Placement.Part;
import io.gpupool.server.records.GangKey;
import io.gpupool.server.records.ResourceUsage;
import io.gpupool.server.rejection.RejectionReason;
import io.gpupool.server.select.Selection;
import io.gpupool.server.tenant.QuotaUsage;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/** One pass over the queue: what is free gets less from request to request. */
final class SchedulingPass {
  private final long nowNanos;
  private final Map<GangKey, WaitingGang> gangs;
  private final List<QueuedRequest> reservations = new ArrayList<>();
  // What finds no room finds none later on, either, for nothing becomes free here.
  private final Map<Wanted, Outcome.NoCapacity> noCapacity = new HashMap<>();
  private Room room;

  /** The part of a request that decides the answer it gets. */
  private record Wanted(GpuRequirements requirements, String tenant) {}

  /** The free parts of GPUs, and the budgets of tenants. */
  private record Room(List<Offer> free, QuotaUsage budgets) {
    Room after(Decision.Grant grant) {
      List<Offer> left = new ArrayList<>(free);
      for (Part part : grant.parts()) {
        left.replaceAll(offer -> offer.holds(part) ? offer.without(part.share()) : offer);
      }
      return new Room(
          left, budgets.with(grant.request().spec().tenant(), ResourceUsage.of(grant.parts())));
    }
  }

  /**
   * Begins a pass.
   *
   * @param gangs those of the requests
   */
  SchedulingPass(Pool pool, Map<GangKey, WaitingGang> gangs, long nowNanos) {
    room = new Room(pool.free(), pool.budgets());
    this.gangs = gangs;
    this.nowNanos = nowNanos;
  }

  /** Decides for a request and, with the first of a gang, for all of the gang. */
  List<Decision> decide(QueuedRequest request) {
    WaitingGang gang = request.gang().map(gangs::get).orElse(null);
    if (gang == null || gang.isGranted()) {
      return List.of(single(request));
    }
    if (!gang.isComplete()) {
      return List.of(
          new Decision.GangIncomplete(request, gang.name(), gang.size(), gang.members()));
    }
    return request.equals(gang.requests().getFirst()) ? together(gang) : List.of();
  }

  private Decision single(QueuedRequest request) {
    Wanted wanted = new Wanted(request.spec().requirements(), request.spec().tenant());
    Outcome.NoCapacity known = noCapacity.get(wanted);
    Decision decision =
        known == null
            ? turn(request, room, ResourceUsage.NONE)
            : new Decision.NoCapacity(request, known);
    if (decision instanceof Decision.Grant grant) {
      room = room.after(grant);
    } else if (decision instanceof Decision.NoCapacity later) {
      noCapacity.put(wanted, later.noCapacity());
      reserve(request, request.sinceNanos());
    }
    return decision;
  }

  private List<Decision> together(WaitingGang gang) {
    List<Decision.Grant> grants = new ArrayList<>();
    Room left = room;
    ResourceUsage use = ResourceUsage.NONE;
    for (QueuedRequest request : gang.together()) {
      Decision decision = turn(request, left, use);
      if (!(decision instanceof Decision.Grant grant)) {
        if (decision instanceof Decision.NoCapacity) {
          reserve(request, gang.completeSinceNanos());
        }
        return gang.requests().stream()
            .map(member -> without(member, gang, decision, grants.size()))
            .toList();
      }
      grants.add(grant);
      left = left.after(grant);
      use = use.plus(ResourceUsage.of(grant.parts()));
    }
    room = left;
    QueuedRequest first =
        gang.together().stream().min(Comparator.comparingLong(QueuedRequest::number)).orElseThrow();
    List<Decision> decisions = new ArrayList<>(List.of(new Decision.GrantGang(first, grants)));
    gang.others().forEach(request -> decisions.add(single(request)));
    return decisions;
  }

  /**
   * Decides for a member of a gang that is not granted.
   *
   * @param obstacle the decision for the first that could not be granted with those before it
   * @param fitting how many those are
   */
  private static Decision without(
      QueuedRequest member, WaitingGang gang, Decision obstacle, int fitting) {
    return switch (obstacle) {
      case Decision.OverQuota over ->
          new Decision.OverQuota(member, over.reason(), over.isForever());
      case Decision.Reserved reserved -> new Decision.Reserved(member, reserved.first());
      case Decision.Unsatisfiable never when never.request().equals(member) -> never;
      default -> new Decision.GangNoCapacity(member, gang.name(), gang.together().size(), fitting);
    };
  }

  /** Keeps room for a request that has waited long. */
  private void reserve(QueuedRequest request, long waitsSinceNanos) {
    if (nowNanos - waitsSinceNanos >= QueueScheduler.RESERVATION_DELAY_NANOS) {
      reservations.add(request);
    }
  }

  /**
   * Decides for one request.
   *
   * @param beside what the others of its gang get
   */
  private Decision turn(QueuedRequest request, Room left, ResourceUsage beside) {
    if (!reservations.isEmpty()
        && place(request, unreserved(left.free())) instanceof Outcome.Placed(List<Part> parts)) {
      return within(left.budgets(), request, parts, beside)
          .orElseGet(() -> new Decision.Grant(request, parts));
    }
    return switch (place(request, left.free())) {
      case Outcome.Placed(List<Part> parts) ->
          within(left.budgets(), request, parts, beside)
              .orElseGet(() ->
                  reservations.isEmpty()
                      ? new Decision.Grant(request, parts)
                      : new Decision.Reserved(request, reservations.getFirst()));
      case Outcome.NoCapacity full -> new Decision.NoCapacity(request, full);
      case Outcome.Unsatisfiable(RejectionReason reason) ->
          new Decision.Unsatisfiable(request, reason);
    };
  }

  private static Outcome place(QueuedRequest request, List<Offer> offers) {
    return Placement.place(request.spec().requirements(), request.spec().tenant(), offers);
  }

  private static Optional<Decision> within(
      QuotaUsage budgets, QueuedRequest request, List<Part> parts, ResourceUsage beside) {
    ResourceUsage use = ResourceUsage.of(parts);
    String tenant = request.spec().tenant();
    return budgets
        .rejectionReason(tenant, use)
        .map(reason ->
            new Decision.OverQuota(request, reason, budgets.neverAllows(tenant, beside.plus(use))));
  }

  /** Returns what is not kept for others. */
  private List<Offer> unreserved(List<Offer> free) {
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
}
