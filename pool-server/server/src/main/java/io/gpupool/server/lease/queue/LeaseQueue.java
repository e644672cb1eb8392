// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.lease.queue;

import io.gpupool.runtime.Timers;
import io.gpupool.server.capacity.Capacity;
import io.gpupool.server.identity.LeaseSecret;
import io.gpupool.server.identity.Principal;
import io.gpupool.server.lease.lifecycle.GrantedLease;
import io.gpupool.server.lease.lifecycle.Lease;
import io.gpupool.server.lease.lifecycle.LeaseFinder;
import io.gpupool.server.lease.lifecycle.LeaseService;
import io.gpupool.server.lease.store.QueueStore;
import io.gpupool.server.limits.QueueLimits;
import io.gpupool.server.metrics.Metric;
import io.gpupool.server.records.LeaseSpec;
import io.gpupool.server.rejection.RejectionReason;
import io.gpupool.server.state.StateException;
import io.gpupool.server.tenant.Tenants;
import java.util.Comparator;
import java.util.HashSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The queue of lease requests, from when they are made until they are granted, refused or
 * withdrawn. Owned by the control thread.
 */
public final class LeaseQueue {
  private static final long NANOS_PER_MILLI = 1_000_000;
  private static final Logger LOG = LoggerFactory.getLogger(LeaseQueue.class);

  private final LeaseService leases;
  private final LeaseFinder finder;
  private final Tenants tenants;
  private final Timers timers;
  private final QueuePlaces places;
  private final @Nullable SharedQueue shared;
  private final QueueAnswers answers;
  private final QueueDispatcher dispatcher;
  private long lastNumber;
  private boolean isStopping;

  /**
   * Makes an empty queue.
   *
   * @param store of the requests that wait at all servers; null: there are no others
   * @param planner plans the moves of leases that the reason of a request tells
   */
  public LeaseQueue(
      LeaseService leases,
      LeaseFinder finder,
      Capacity capacity,
      Tenants tenants,
      Timers timers,
      QueueLimits limits,
      @Nullable QueueStore store,
      MovePlanner planner) {
    this.leases = leases;
    this.finder = finder;
    this.tenants = tenants;
    this.timers = timers;
    places = new QueuePlaces(limits);
    shared = store == null ? null : new SharedQueue(store, timers);
    answers = new QueueAnswers(leases.metrics(), shared != null);
    dispatcher =
        new QueueDispatcher(places, shared, answers, leases, capacity, tenants, timers, planner);
  }

  /**
   * Asks for a lease; the client is told at once or later.
   *
   * @param identity of a request that can be made again, at any server
   */
  public QueueEntry ask(LeaseSpec spec, QueueClient client, @Nullable RequestIdentity identity) {
    long number;
    try {
      if (identity != null && identity.isResumed()) {
        Optional<QueueEntry> resumed = resume(spec, client, identity);
        if (resumed.isPresent()) {
          return resumed.get();
        }
      }
      Optional<RejectionReason.QueueFull> noPlace = places.rejectionReason(spec);
      if (noPlace.isPresent()) {
        // It gets no number and no look at the GPUs, so that a flood of requests costs little.
        QueueEntry entry = entry(0, spec, client, identity);
        answers.refuseQuietly(entry, noPlace.get());
        return entry;
      }
      number = shared != null ? shared.nextNumber() : ++lastNumber;
    } catch (StateException e) {
      QueueEntry entry = entry(0, spec, client, identity);
      answers.redirect(entry, String.valueOf(e.getMessage()));
      return entry;
    }
    QueueEntry entry = entry(number, spec, client, identity);
    Optional<RejectionReason.PriorityTooHigh> tooHigh =
        tenants.rejectionReason(spec.tenant(), spec.priority());
    if (isStopping) {
      answers.refuse(entry, new RejectionReason.ServerStopping());
    } else if (tooHigh.isPresent()) {
      answers.refuse(entry, tooHigh.get());
    } else {
      enqueue(entry);
    }
    return entry;
  }

  private QueueEntry entry(
      long number, LeaseSpec spec, QueueClient client, @Nullable RequestIdentity identity) {
    return entry(new QueuedRequest(number, spec, timers.nowNanos()), spec, client, identity);
  }

  private QueueEntry entry(
      QueuedRequest request,
      LeaseSpec spec,
      QueueClient client,
      @Nullable RequestIdentity identity) {
    return new QueueEntry(
        request,
        spec,
        client,
        identity,
        (entry, parts) -> dispatcher.grants().grantLease(entry, client, parts));
  }

  /**
   * Asks for the room with which a suspended lease goes on, which only this server can give. It
   * waits until it has it, is withdrawn or refused.
   *
   * @param taker takes what it gets
   */
  public QueueEntry resume(LeaseSpec spec, QueueListener listener, PartsTaker taker)
      throws StateException {
    long number = shared != null ? shared.nextNumber() : ++lastNumber;
    QueueEntry entry =
        new QueueEntry(
            new QueuedRequest(number, spec, timers.nowNanos()), spec, listener, null, taker);
    if (isStopping) {
      answers.refuse(entry, new RejectionReason.ServerStopping());
    } else {
      places.put(entry);
      dispatcher.dispatchSoon();
    }
    return entry;
  }

  private void enqueue(QueueEntry entry) {
    places.put(entry);
    boolean waits = entry.spec().waitMillis() > 0;
    if (waits && dispatcher.isCrowded()) {
      // One look for all that come at this time.
      dispatcher.dispatchSoon();
    } else {
      dispatcher.dispatch();
    }
    if (!places.contains(entry)) {
      return;
    }
    if (waits) {
      leases.metrics().add(Metric.REQUESTS_QUEUED, 1, entry.spec().tenant());
      limit(entry, entry.spec().waitMillis());
      record(entry);
    } else {
      places.take(entry);
      answers.refuse(entry, entry.position().reason());
    }
  }

  private void limit(QueueEntry entry, long millis) {
    entry.limit(timers.after(millis, () -> expire(entry)));
  }

  /** Resumes an earlier request; empty if there is none. */
  private Optional<QueueEntry> resume(LeaseSpec spec, QueueClient client, RequestIdentity identity)
      throws StateException {
    Optional<QueuedRequest> waiting =
        shared != null ? shared.takeOver(identity) : places.find(identity).map(QueueEntry::request);
    if (waiting.isEmpty()) {
      return finder.find(identity.secret()).map(granted -> resumeGranted(granted, spec, client));
    }
    QueueEntry entry = entry(waiting.get(), spec, client, identity);
    Optional<QueueEntry> before = places.find(waiting.get().number());
    before.ifPresent(QueueEntry::cancelLimit);
    if (shared != null) {
      entry.setRecorded();
    }
    places.put(entry);
    long waitedMillis = entry.waitedNanos(timers.nowNanos()) / NANOS_PER_MILLI;
    limit(entry, Math.max(0, spec.waitMillis() - waitedMillis));
    before.ifPresent(other -> other.client().redirected("another connection resumed the request"));
    LOG.info("request {} resumed here", entry.id());
    dispatcher.dispatchSoon();
    return Optional.of(entry);
  }

  /** The answer was lost: the client holds the lease again, and hears of it once more. */
  private QueueEntry resumeGranted(GrantedLease granted, LeaseSpec spec, QueueClient client) {
    leases.hold(granted.lease(), client.hold());
    client.granted(granted);
    return entry(0, spec, client, null);
  }

  /** Has the other servers know that a request waits here. */
  private void record(QueueEntry entry) {
    if (shared == null || entry.identity().isEmpty()) {
      return;
    }
    try {
      shared.record(entry, entry.identity().get());
    } catch (StateException e) {
      places.take(entry);
      answers.redirect(entry, String.valueOf(e.getMessage()));
    }
  }

  private void expire(QueueEntry entry) {
    if (dispatcher.remove(entry)) {
      answers.refuseExpired(entry);
      dispatcher.dispatchSoonIfCrowded();
    }
  }

  /** Looks at the queue again; to be called whenever room may have become free. */
  public void dispatch() {
    dispatcher.dispatch();
  }

  /** Takes a request back; one that was granted or refused is left as it is. */
  public void withdraw(QueueEntry entry) {
    entry.cancelLimit();
    // One that all servers know is forgotten only if its client does not come back.
    boolean mayComeBack = shared != null && entry.identity().isPresent();
    if (mayComeBack ? places.remove(entry) : dispatcher.remove(entry)) {
      LOG.debug("request {} is withdrawn", entry.id());
      dispatcher.dispatchSoonIfCrowded();
    }
  }

  /** Takes back the request that waits here by this identity, if it is one of the caller's. */
  public void withdraw(LeaseSecret secret, Principal principal) {
    places
        .find(RequestIdentity.keyOf(secret))
        .filter(entry -> principal.mayUse(entry.spec().tenant()))
        .filter(dispatcher::remove)
        .ifPresent(entry -> {
          LOG.debug("request {} is withdrawn for good", entry.id());
          answers.refuseQuietly(entry, new RejectionReason.Cancelled(principal.text(), ""));
          dispatcher.dispatchSoonIfCrowded();
        });
  }

  /** A request that waits at this server or another. */
  public Optional<QueuedRequest> find(String id) {
    return Stream.concat(
            places.all().stream().map(QueueEntry::request),
            Optional.ofNullable(shared).stream()
                .flatMap(queue -> queue.requestsElsewhere().stream()))
        .filter(request -> request.id().equals(id))
        .findFirst();
  }

  /** Takes a request out of the queue, here or at another server, although its client is there. */
  public void cancel(QueuedRequest request, RejectionReason.Cancelled reason)
      throws StateException {
    Optional<QueueEntry> here = places.find(request.number());
    if (here.isEmpty()) {
      if (shared != null) {
        shared.cancel(request);
      }
      dispatcher.dispatch();
    } else if (dispatcher.remove(here.get())) {
      answers.refuse(here.get(), reason);
      dispatcher.dispatchSoonIfCrowded();
    }
  }

  /** The positions of the requests that wait at this server, in their order. */
  public List<QueuePosition> here() {
    return places.all().stream()
        .map(QueueEntry::position)
        .sorted(Comparator.comparingInt(QueuePosition::place))
        .toList();
  }

  /** The positions of the requests that wait at other servers. */
  public List<QueuePosition> elsewhere() {
    return shared == null ? List.of() : shared.positionsElsewhere();
  }

  /** Returns the position of the request for a pod's container; empty: nothing is asked for it. */
  public Optional<QueuePosition> positionOf(String podUid, String container) {
    return Stream.concat(here().stream(), elsewhere().stream())
        .filter(p -> p.request().spec().isFor(podUid, container))
        .findFirst();
  }

  /** Does what follows from what other servers have recorded. */
  public void reconcile() {
    if (shared == null) {
      return;
    }
    Set<String> keys = new HashSet<>();
    for (QueueEntry entry : places.copy()) {
      if (entry.identity().isPresent()) {
        keys.add(entry.identity().get().key());
        reconcile(entry, entry.identity().get(), shared);
      }
    }
    shared.forgetAbsent(keys);
    dispatcher.dispatch();
  }

  private void reconcile(QueueEntry entry, RequestIdentity identity, SharedQueue queue) {
    if (queue.isRecordedHere(identity) || !dispatcher.remove(entry)) {
      return;
    }
    if (queue.isRecorded(identity)) {
      answers.redirect(entry, "it goes on at another server");
      return;
    }
    Optional<GrantedLease> granted = grantedWithGang(entry, identity);
    if (granted.isPresent() && entry.client() instanceof QueueClient client) {
      leases.hold(granted.get().lease(), client.hold());
      dispatcher.grants().tell(entry, client, granted.get());
    } else {
      answers.refuse(entry, new RejectionReason.Cancelled("", ""));
    }
  }

  /** The lease that another server has granted with those of its gang to a client of this one. */
  private Optional<GrantedLease> grantedWithGang(QueueEntry entry, RequestIdentity identity) {
    return entry.spec().gang() == null
        ? Optional.empty()
        : finder.find(identity.secret()).filter(granted -> isHolderHere(granted.lease()));
  }

  private boolean isHolderHere(Lease lease) {
    return leases.store().isHolderHere(lease.id(), lease.topology().home());
  }

  /** Has all clients that can ask another server, since this one can grant nothing. */
  public void redirect(String reason) {
    for (QueueEntry entry : places.copy()) {
      if (entry.identity().isPresent()) {
        places.take(entry);
        answers.redirect(entry, reason);
      }
    }
  }

  /** Refuses all requests, those that wait and those that come; leases go on. */
  public void stopGranting(String reason) {
    isStopping = true;
    if (shared != null) {
      redirect(reason);
    }
    for (QueueEntry entry : places.copy()) {
      if (dispatcher.remove(entry)) {
        answers.refuse(entry, new RejectionReason.ServerStopping());
      }
    }
  }
}
