// SPDX-License-Identifier: Apache-2.0
package io.gpupool.k8s.controller.lease;

import io.gpupool.control.v1.LeaseRequest;
import io.gpupool.k8s.controller.options.ControllerOptions.Times;
import io.gpupool.k8s.controller.pod.PodFacts;
import io.gpupool.k8s.controller.pod.PodFacts.InPod;
import io.gpupool.k8s.controller.pod.PodKey;
import io.gpupool.k8s.controller.pod.PodState;
import io.gpupool.k8s.controller.pod.PodState.Reason;
import io.gpupool.k8s.request.PodRequest;
import io.gpupool.runtime.BackOff;
import io.gpupool.runtime.Timers;
import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.function.Function;
import java.util.random.RandomGenerator;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/**
 * The leases of one pod. They are requested together and released when the pod ends. Owned by the
 * controller's thread.
 */
public final class PodLeases {
  /** The recipient of reports on a pod. */
  public interface Reporter {
    void state(PodFacts pod, PodState state);

    void event(PodKey pod, boolean warning, String reason, String message);
  }

  /** The objects that all pods share. */
  public record SharedServices(
      LeasePool pool, Reporter reporter, Timers timers, Times times, RandomGenerator random) {}

  final PodKey key;
  private final SharedServices services;
  private final LeasePlan plan;
  private final List<PodLease> claims;
  private final PodEvents events;
  private final BackOff partialPauses;
  private PodFacts facts;
  private boolean over;
  private boolean mayAsk;
  private @Nullable PodState whyNot;
  private boolean updating;
  private boolean again;
  private boolean pausing;
  private boolean unplaced;
  private long ungatedNanos;
  private long notHeldSinceNanos;
  private @Nullable PodState state;
  private Timers.Cancellable look = Timers.Cancellable.NOTHING;

  /**
   * Begins with a pod that asks for something.
   *
   * @param requests makes the current request for one of its leases
   */
  public PodLeases(
      PodFacts facts,
      PodRequest request,
      Function<RequiredLease, LeaseRequest> requests,
      SharedServices services) {
    this.facts = facts;
    this.services = services;
    key = facts.key();
    plan = LeasePlan.of(request, facts.containers());
    partialPauses =
        BackOff.jittered(
            services.times.partial().dividedBy(2),
            services.times.partial().multipliedBy(2),
            services.random);
    events = new PodEvents(facts, services);
    notHeldSinceNanos = services.timers.nowNanos();
    ungatedNanos = notHeldSinceNanos;
    unplaced = facts.told() != null && facts.told().reason().equals(Reason.GIVEN_BACK.text());
    claims =
        plan.leases().stream()
            .map(wanted ->
                new PodLease(
                    wanted,
                    services.pool,
                    services.timers,
                    services.times,
                    services.random,
                    () -> requests.apply(wanted),
                    new Owner()))
            .toList();
  }

  PodFacts facts() {
    return facts;
  }

  public List<PodLease> claims() {
    return claims;
  }

  /** Returns whether it has one of these leases. */
  public boolean hasAny(Set<String> leases) {
    return claims.stream()
        .flatMap(claim -> claim.lease().stream())
        .anyMatch(lease -> leases.contains(lease.getId()));
  }

  Optional<PodState> state() {
    return Optional.ofNullable(state);
  }

  /** Returns whether its leases are to be given back. */
  public boolean isOver() {
    return over;
  }

  /** Returns whether everything was given back. */
  public boolean isAtRest() {
    return claims.stream().allMatch(PodLease::isAtRest);
  }

  /**
   * Adapts to the current facts.
   *
   * @param isOver whether the pod needs nothing any more
   * @param ask whether leases may be asked for
   * @param why the reason to report if they may not; null: none is known
   */
  public void update(PodFacts now, boolean isOver, boolean ask, @Nullable PodState why) {
    if (facts.isGated() && !now.isGated()) {
      ungatedNanos = services.timers.nowNanos();
    }
    facts = now;
    over = isOver;
    mayAsk = ask;
    whyNot = why;
    update();
  }

  /** Leaves its leases to the pool's grace; {@link #update} asks for them again. */
  public void releaseHold() {
    mayAsk = false;
    stopLooking();
    claims.forEach(PodLease::releaseHold);
  }

  private void update() {
    // Its actions may change leases, which calls this again.
    if (updating) {
      again = true;
      return;
    }
    updating = true;
    do {
      again = false;
      settle();
    } while (again);
    updating = false;
    tell();
  }

  private void settle() {
    unplaced = unplaced && facts.node().isEmpty();
    boolean first = isFirst();
    for (PodLease claim : claims) {
      if (over || !isNeeded(claim, first)) {
        if (!claim.isAtRest()) {
          claim.giveBack(over ? "its pod has ended" : "its container has ended");
        }
      } else if (mayAsk && !pausing && !unplaced) {
        claim.ask();
      }
    }
    if (over || needed().stream().allMatch(PodLeases::isHeld)) {
      notHeldSinceNanos = 0;
      stopLooking();
      partialPauses.reset();
      if (!over) {
        awaitPlace();
      }
    } else if (mayAsk && !pausing) {
      if (notHeldSinceNanos == 0) {
        notHeldSinceNanos = services.timers.nowNanos();
      }
      breakPartial();
    }
  }

  /**
   * Gives back the leases of a pod that no node takes in time; they would only keep others from
   * running.
   */
  private void awaitPlace() {
    List<PodLease> held = needed();
    if (held.isEmpty() || facts.isGated() || !facts.node().isEmpty()) {
      return;
    }
    long sinceNanos = held.stream().mapToLong(PodLease::sinceNanos).max().orElseThrow();
    long leftNanos =
        services.times.unplaced().toNanos()
            - (services.timers.nowNanos() - Math.max(sinceNanos, ungatedNanos));
    if (leftNanos > 0) {
      look = services.timers.after(Duration.ofNanos(leftNanos), this::update);
      return;
    }
    unplaced = true;
    held.forEach(claim -> claim.giveBack("no node takes its pod"));
  }

  /** Also ends a pause, because nothing else would. */
  private void stopLooking() {
    look.cancel();
    pausing = false;
  }

  /** Returns whether an init container with a lease of its own has still to end. */
  private boolean isFirst() {
    return facts.containers().stream()
        .anyMatch(container -> plan.own().contains(container.name()) && !container.done());
  }

  private boolean isNeeded(PodLease claim, boolean first) {
    if (!(first ? claim.wanted().first() : claim.wanted().last())) {
      return false;
    }
    // A lease of init containers alone is needed until the last that uses it has ended.
    return claim.wanted().last()
        || facts.containers().stream()
            .filter(container -> claim.wanted().containers().contains(container.name()))
            .anyMatch(container -> !container.done());
  }

  private List<PodLease> needed() {
    boolean first = isFirst();
    return claims.stream().filter(claim -> isNeeded(claim, first)).toList();
  }

  private static boolean isHeld(PodLease claim) {
    return claim.state() == PodLease.State.HELD;
  }

  /**
   * Gives back partial leases. Otherwise two pods that each have what the other waits for would
   * wait forever.
   */
  private void breakPartial() {
    look.cancel();
    List<PodLease> needed = needed();
    if (!isUnused()
        || needed.stream().noneMatch(PodLeases::isHeld)
        || needed.stream().noneMatch(PodLeases::isWaiting)) {
      return;
    }
    long sinceNanos =
        needed.stream()
            .filter(PodLeases::isHeld)
            .mapToLong(PodLease::sinceNanos)
            .min()
            .orElseThrow();
    long leftNanos =
        services.times.partial().toNanos()
            - (services.timers.nowNanos() - Math.max(sinceNanos, notHeldSinceNanos));
    if (leftNanos > 0) {
      look = services.timers.after(Duration.ofNanos(leftNanos), this::update);
      return;
    }
    pausing = true;
    needed.forEach(claim -> claim.giveBack("its pod waits for others beside it"));
    look =
        services.timers.after(
            partialPauses.next(),
            () -> {
              pausing = false;
              notHeldSinceNanos = services.timers.nowNanos();
              update();
            });
  }

  private static boolean isWaiting(PodLease claim) {
    return claim.state() == PodLease.State.QUEUED || claim.state() == PodLease.State.REFUSED;
  }

  /** Returns whether no program can be using its leases yet. */
  private boolean isUnused() {
    return facts.isGated() || facts.containers().stream().noneMatch(InPod::started);
  }

  private void tell() {
    if (over) {
      events.none();
      state = null;
      return;
    }
    Optional<PodState> now =
        unplaced
            ? Optional.of(PodTexts.givenBack(services.times.unplaced(), leases()))
            : mayAsk || whyNot == null
                ? PodTexts.state(needed(), pausing, leases())
                : Optional.of(whyNot);
    if (now.isEmpty() || now.get().equals(state)) {
      return;
    }
    if (now.get().reason() == Reason.UNREACHABLE
        && state != null
        && state.isGranted()
        && needed().stream().noneMatch(PodLeases::isWaiting)) {
      // It keeps its leases until something else is known.
      return;
    }
    state = now.get();
    events.state(facts, now.get());
  }

  private Map<String, String> leases() {
    return claims.stream()
        .filter(claim -> claim.lease().isPresent() && claim.state() != PodLease.State.RETURNED)
        .collect(
            Collectors.toMap(
                claim -> claim.wanted().container(),
                claim -> claim.lease().get().getId(),
                (one, other) -> one,
                LinkedHashMap::new));
  }

  private final class Owner implements PodLease.Owner {
    @Override
    public void changed() {
      update();
    }

    @Override
    public void lost(PodLease claim, String lease, String reason) {
      if (!over) {
        events.lost(key, claim.wanted().container(), lease, reason, facts.hasStarted());
      }
    }
  }
}
