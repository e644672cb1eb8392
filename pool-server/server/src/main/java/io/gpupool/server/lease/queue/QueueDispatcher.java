// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.lease.queue;

import io.gpupool.runtime.Timers;
import io.gpupool.server.capacity.Capacity;
import io.gpupool.server.lease.lifecycle.LeaseService;
import io.gpupool.server.lease.queue.QueueScheduler.Decision;
import io.gpupool.server.placement.Placement.Part;
import io.gpupool.server.tenant.Tenants;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * A dispatcher of the queue: has the scheduler decide, then grants, refuses and tells clients their
 * places. Owned by the control thread.
 */
final class QueueDispatcher {
  /** Many requests that come and go at this time are looked at together. */
  private static final int CROWD = QueueEntry.FRONT;

  private static final long SOON_MILLIS = 10;

  /** So that looking at a long queue takes a small part of the control thread's time. */
  private static final int LOOKED_AT_IN_A_MILLI = 32;

  private final QueuePlaces places;
  private final @Nullable SharedQueue shared;
  private final QueueAnswers answers;
  private final QueueGrants grants;
  private final LeaseService leases;
  private final Capacity capacity;
  private final Tenants tenants;
  private final Timers timers;
  private final QueueExplainer explainer;
  private boolean isPlanned;

  QueueDispatcher(
      QueuePlaces places,
      @Nullable SharedQueue shared,
      QueueAnswers answers,
      LeaseService leases,
      Capacity capacity,
      Tenants tenants,
      Timers timers,
      MovePlanner planner) {
    this.places = places;
    this.shared = shared;
    this.answers = answers;
    this.leases = leases;
    this.capacity = capacity;
    this.tenants = tenants;
    this.timers = timers;
    grants = new QueueGrants(places, shared, answers, leases, timers, this::dispatch);
    explainer = new QueueExplainer(capacity, leases, planner);
  }

  boolean isCrowded() {
    return places.size() > CROWD;
  }

  /** Settles the queue now, or soon where many come and go. */
  void dispatchSoonIfCrowded() {
    if (isCrowded()) {
      dispatchSoon();
    } else {
      dispatch();
    }
  }

  void dispatchSoon() {
    if (!isPlanned) {
      isPlanned = true;
      timers.after(
          SOON_MILLIS + places.size() / LOOKED_AT_IN_A_MILLI,
          () -> {
            isPlanned = false;
            dispatch();
          });
    }
  }

  /** The grants that follow from its decisions. */
  QueueGrants grants() {
    return grants;
  }

  /** Grants what can be granted, in the order of the queue, and notes the places of the rest. */
  void dispatch() {
    List<QueuedRequest> waiting = new ArrayList<>();
    places.all().forEach(entry -> waiting.add(entry.request()));
    if (shared != null) {
      waiting.addAll(shared.requestsElsewhere());
      shared.clearPositions();
    }
    List<QueueEntry> moved = new ArrayList<>();
    int place = 0;
    for (Decision decision : decide(waiting)) {
      Optional<QueueEntry> here = places.find(decision.request().number());
      if (here.isEmpty()) {
        // The server at which it waits grants it.
        place += isGrant(decision) ? 0 : 1;
        QueuePosition position = position(decision, Math.max(1, place));
        if (shared != null) {
          shared.put(position);
        }
        continue;
      }
      QueueEntry entry = here.get();
      if (decision instanceof Decision.Grant(QueuedRequest request, List<Part> parts)) {
        grants.grant(entry, parts);
      } else if (decision instanceof Decision.GrantGang gang) {
        grants.grantGang(gang);
      } else if (isHopeless(decision, entry)) {
        remove(entry);
        answers.refuse(entry, explainer.reason(decision, entry.spec(), Math.max(1, place)));
      } else if (entry.moveTo(position(decision, ++place), timers.nowNanos())) {
        moved.add(entry);
      }
    }
    moved.forEach(QueueEntry::tellPosition);
  }

  /** Removes an entry that is answered. Returns whether it was still there. */
  boolean remove(QueueEntry entry) {
    entry.cancelLimit();
    if (!places.remove(entry)) {
      return false;
    }
    if (shared != null) {
      shared.remove(entry);
    }
    return true;
  }

  private List<Decision> decide(List<QueuedRequest> waiting) {
    return waiting.isEmpty()
        ? List.of()
        : QueueScheduler.decide(waiting, pool(waiting), timers.nowNanos());
  }

  private QueueScheduler.Pool pool(List<QueuedRequest> waiting) {
    boolean hasGangs = waiting.stream().anyMatch(request -> request.gang().isPresent());
    return new QueueScheduler.Pool(
        capacity.snapshot(), tenants.budgets(), hasGangs ? leases.store().countByGang() : Map.of());
  }

  private static boolean isGrant(Decision decision) {
    return decision instanceof Decision.Grant || decision instanceof Decision.GrantGang;
  }

  private QueuePosition position(Decision decision, int place) {
    return new QueuePosition(
        decision.request(),
        place,
        decision instanceof Decision.OverQuota,
        () -> explainer.reason(decision, decision.request().spec(), place));
  }

  private boolean isHopeless(Decision decision, QueueEntry entry) {
    return switch (decision) {
      case Decision.Unsatisfiable never -> !mayMissServers(entry);
      case Decision.OverQuota over -> over.isForever();
      case Decision.Grant grant -> false;
      case Decision.GrantGang gang -> false;
      case Decision.GangIncomplete incomplete -> false;
      case Decision.GangNoCapacity noCapacity -> false;
      case Decision.NoCapacity noCapacity -> false;
      case Decision.Reserved reserved -> false;
    };
  }

  /** A server that has just started does not know those that were there before and come again. */
  private boolean mayMissServers(QueueEntry entry) {
    return shared != null
        && shared.mayMissServers()
        && entry.identity().filter(RequestIdentity::isResumed).isPresent();
  }
}
