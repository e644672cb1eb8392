// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.lease;

import io.gpupool.control.v1.Cause;
import io.gpupool.control.v1.LeaseRequest;
import io.gpupool.runtime.Timers;
import io.gpupool.server.capacity.Capacity;
import io.gpupool.server.identity.LeaseSecret;
import io.gpupool.server.identity.TokenHash;
import io.gpupool.server.lease.QueueScheduler.Decision;
import io.gpupool.server.lease.QueueScheduler.Pending;
import io.gpupool.server.limits.QueueLimits;
import io.gpupool.server.records.IdAllocator;
import io.gpupool.server.records.LeaseSpec;
import io.gpupool.server.records.WaitingRequest;
import io.gpupool.server.refusal.RefusedException;
import io.gpupool.server.state.StateException;
import io.gpupool.server.tally.Metric;
import io.gpupool.server.tenant.Tenants;
import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.function.Supplier;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Requests for leases, from when they are made until they are granted, refused or withdrawn. Owned
 * by the control thread.
 */
public final class LeaseQueue {
  /** After another server was quicker. */
  private static final long AGAIN_MILLIS = 50;

  /** So many know each step; from then on they are looked at together and told less often. */
  private static final int CROWD = 32;

  private static final long SOON_MILLIS = 10;

  /** So that looking at a long queue takes a small part of the control thread's time. */
  private static final int LOOKED_AT_IN_A_MILLI = 32;

  private static final long MISSING_NANOS = TimeUnit.MINUTES.toNanos(1);
  private static final long TELL_NANOS = TimeUnit.SECONDS.toNanos(1);
  private static final Logger LOG = LoggerFactory.getLogger(LeaseQueue.class);

  private final Leases leases;
  private final Capacity capacity;
  private final Tenants tenants;
  private final Timers timers;
  private final QueuePlaces entries;
  private Optional<Shared> shared = Optional.empty();
  private final Map<Long, QueuePosition> standingElsewhere = new HashMap<>();
  private long sharedSinceNanos;
  private long lastNumber;
  private boolean draining;
  private boolean settlePlanned;

  /** Who asked. Told on the control thread; after {@code granted} or {@code refused} no more. */
  public interface Asker {
    /** It waits; told again whenever its place changes. The next one has place 1. */
    void queued(int place, String reason);

    void granted(Leases.Granted granted);

    void refused(Cause cause, String reason);

    /** This server cannot serve it any more; another one that it asks again may. */
    default void redirected(String reason) {
      refused(Cause.CAUSE_DRAINING, reason);
    }
  }

  /**
   * What makes a request known to all servers: its id, and how it was asked for.
   *
   * @param key what others may know of the id: its hash
   */
  public record ResumableRequest(
      LeaseSecret id, LeaseRequest message, boolean resumed, String key) {
    public ResumableRequest(LeaseSecret id, LeaseRequest message, boolean resumed) {
      this(id, message, resumed, TokenHash.of(id.reveal()).text());
    }
  }

  /** The queue of a pool of several servers. */
  private record Shared(Waitlist list, IdAllocator numbers) {}

  /** How one fares that waits at another server. */
  private record QueuePosition(int place, Decision turn) {}

  /**
   * A request that waits at another server.
   *
   * @param isOverQuota whether it waits for its tenant's other leases, not for GPUs
   */
  public record RemoteRequest(
      WaitingRequest waiting, int place, String reason, boolean isOverQuota) {
    public String id() {
      return "Q" + waiting.number();
    }
  }

  /** A place in the queue. */
  public static final class QueuedRequest {
    public final LeaseSpec request;
    private final Pending waiting;
    private final Asker asker;
    private final Optional<ResumableRequest> known;
    private Optional<Timers.Cancellable> limit = Optional.empty();
    private int place;
    private Supplier<String> reason = () -> "";
    private long toldAtNanos;
    private Cause cause = Cause.CAUSE_NO_CAPACITY;

    long number() {
      return waiting.number();
    }

    private QueuedRequest(
        LeaseSpec request, Pending waiting, Asker asker, Optional<ResumableRequest> known) {
      this.request = request;
      this.waiting = waiting;
      this.asker = asker;
      this.known = known;
    }

    public String id() {
      return "Q" + waiting.number();
    }

    public int place() {
      return place;
    }

    public String reason() {
      return reason.get();
    }

    public long sinceNanos() {
      return waiting.sinceNanos();
    }

    /** Whether it waits for its tenant's other leases, not for GPUs. */
    public boolean isOverQuota() {
      return cause == Cause.CAUSE_DENIED;
    }
  }

  public LeaseQueue(
      Leases leases, Capacity capacity, Tenants tenants, Timers timers, QueueLimits limits) {
    entries = new QueuePlaces(limits);
    this.leases = leases;
    this.capacity = capacity;
    this.tenants = tenants;
    this.timers = timers;
    leases.whenFreed(this::settle);
  }

  /** Has requests that their clients make again wait at all servers of the pool. */
  public void share(Waitlist list) {
    shared = Optional.of(new Shared(list, list.numbers()));
    sharedSinceNanos = timers.nowNanos();
  }

  /** Asks for a lease; the asker is told at once or later. */
  public QueuedRequest ask(LeaseSpec request, Asker asker) {
    return ask(request, asker, Optional.empty());
  }

  /** The same of a request that can be made again, at any server. */
  public QueuedRequest ask(LeaseSpec request, Asker asker, Optional<ResumableRequest> known) {
    long number;
    try {
      if (known.isPresent() && known.get().resumed()) {
        Optional<QueuedRequest> resumed = resume(request, asker, known.get());
        if (resumed.isPresent()) {
          return resumed.get();
        }
      }
      Optional<String> noPlace = entries.refusal(request);
      if (noPlace.isPresent()) {
        return refuseCheaply(request, asker, known, noPlace.get());
      }
      number = shared.isPresent() ? shared.get().numbers().next() : ++lastNumber;
    } catch (StateException e) {
      QueuedRequest entry = new QueuedRequest(request, waiting(0, request), asker, known);
      redirect(entry, e.getMessage());
      return entry;
    }
    QueuedRequest entry = new QueuedRequest(request, waiting(number, request), asker, known);
    if (draining) {
      refuse(entry, Cause.CAUSE_DRAINING, "this server is stopping and grants nothing more");
      return entry;
    }
    Optional<String> tooImportant = tenants.rejectionReason(request.tenant(), request.priority());
    if (tooImportant.isPresent()) {
      refuse(entry, Cause.CAUSE_DENIED, tooImportant.get());
      return entry;
    }
    entries.put(entry);
    if (request.waitMillis() > 0 && entries.size() > CROWD) {
      // One look for all that come at this time.
      settleSoon();
    } else {
      settle();
    }
    if (entries.contains(entry)) {
      if (request.waitMillis() == 0) {
        entries.remove(entry);
        refuse(entry, entry.cause, entry.reason());
      } else {
        leases.tally().add(Metric.REQUESTS_QUEUED, 1, request.tenant());
        limit(entry, request.waitMillis());
        write(entry);
      }
    }
    return entry;
  }

  private Pending waiting(long number, LeaseSpec request) {
    return new Pending(
        number, request.ask(), request.tenant(), request.priority(), timers.nowNanos());
  }

  private void limit(QueuedRequest entry, long millis) {
    entry.limit = Optional.of(timers.after(millis, () -> expire(entry)));
  }

  /** Lets a request go on that was made before; empty if nobody knows it. */
  private Optional<QueuedRequest> resume(LeaseSpec request, Asker asker, ResumableRequest known)
      throws StateException {
    Optional<QueuedRequest> here = shared.isEmpty() ? waitingHere(known) : Optional.empty();
    if (here.isPresent()) {
      return Optional.of(goOn(here.get(), request, asker, known));
    }
    Optional<WaitingRequest> found =
        shared.isPresent() ? shared.get().list().attach(known.key()) : Optional.empty();
    if (found.isPresent()) {
      Pending waiting = shared.get().list().waiting(found.get());
      QueuedRequest entry = new QueuedRequest(request, waiting, asker, Optional.of(known));
      entries.put(entry);
      long waitedMillis = (timers.nowNanos() - waiting.sinceNanos()) / 1_000_000;
      limit(entry, Math.max(0, request.waitMillis() - waitedMillis));
      LOG.info("request {} goes on here", entry.id());
      settleSoon();
      return Optional.of(entry);
    }
    return leases
        .find(known.id())
        .map(granted -> {
          asker.granted(granted);
          return new QueuedRequest(request, waiting(0, request), asker, Optional.of(known));
        });
  }

  private Optional<QueuedRequest> waitingHere(ResumableRequest known) {
    return entries.all().stream()
        .filter(e -> e.known.filter(k -> k.key().equals(known.key())).isPresent())
        .findFirst();
  }

  /** Its client has come again before its first connection was seen to be gone. */
  private QueuedRequest goOn(
      QueuedRequest before, LeaseSpec request, Asker asker, ResumableRequest known) {
    QueuedRequest entry = new QueuedRequest(request, before.waiting, asker, Optional.of(known));
    before.limit.ifPresent(Timers.Cancellable::cancel);
    entries.put(entry);
    long waitedMillis = (timers.nowNanos() - before.sinceNanos()) / 1_000_000;
    limit(entry, Math.max(0, request.waitMillis() - waitedMillis));
    before.asker.redirected("it goes on on another connection");
    settleSoon();
    return entry;
  }

  /** Has the other servers know that it waits. */
  private void write(QueuedRequest entry) {
    if (shared.isEmpty() || entry.known.isEmpty()) {
      return;
    }
    try {
      ResumableRequest known = entry.known.get();
      WaitingRequest ignored =
          shared
              .get()
              .list()
              .add(
                  known.key(),
                  new WaitingRequest(
                      entry.waiting.number(),
                      "",
                      timers.wallMillis(),
                      known.message().toBuilder().clearRequestId().clearResumed().build(),
                      entry.request));
    } catch (StateException e) {
      entries.remove(entry);
      redirect(entry, e.getMessage());
    }
  }

  private void redirect(QueuedRequest entry, String reason) {
    entry.limit.ifPresent(Timers.Cancellable::cancel);
    if (shared.isPresent() && entry.known.isPresent()) {
      entry.asker.redirected(reason);
    } else {
      refuse(entry, Cause.CAUSE_NO_CAPACITY, "the server cannot grant it: " + reason);
    }
  }

  /** Does what follows from what other servers have written. */
  void reconcile() {
    if (shared.isEmpty()) {
      return;
    }
    Waitlist list = shared.get().list();
    Set<String> here = new HashSet<>();
    for (QueuedRequest entry : entries.copy()) {
      if (entry.known.isPresent()) {
        String key = entry.known.get().key();
        here.add(key);
        if (!list.isHere(key) && remove(entry)) {
          if (list.find(key).isEmpty()) {
            refuse(entry, Cause.CAUSE_CANCELLED, "it was taken out of the queue");
          } else {
            entry.asker.redirected("it goes on at another server");
          }
        }
      }
    }
    list.forgetAbsent(here::contains);
    settle();
  }

  /** Has all who wait ask another server, since this one can grant nothing. */
  void redirect(String reason) {
    for (QueuedRequest entry : entries.copy()) {
      if (entry.known.isPresent()) {
        entries.remove(entry);
        redirect(entry, reason);
      }
    }
  }

  /** One look for all that come and go at this time, where they are many. */
  private void settleInTime() {
    if (entries.size() > CROWD) {
      settleSoon();
    } else {
      settle();
    }
  }

  private void settleSoon() {
    if (!settlePlanned) {
      settlePlanned = true;
      timers.after(
          SOON_MILLIS + entries.size() / LOOKED_AT_IN_A_MILLI,
          () -> {
            settlePlanned = false;
            settle();
          });
    }
  }

  /** Takes a request back; one that was granted or refused is left as it is. */
  public void withdraw(QueuedRequest entry) {
    // One that may be made again is forgotten only when that does not happen.
    boolean absent = shared.isPresent() && entry.known.isPresent();
    if (absent ? take(entry) : remove(entry)) {
      LOG.debug("request {} is withdrawn", entry.id());
      settleInTime();
    }
  }

  /** One that waits. */
  public Optional<QueuedRequest> find(String id) {
    return entries.all().stream().filter(entry -> entry.id().equals(id)).findFirst();
  }

  /** Takes a request out of the queue although its asker is still there. */
  public void cancel(QueuedRequest entry, String reason) {
    if (remove(entry)) {
      refuse(entry, Cause.CAUSE_CANCELLED, reason);
      settleInTime();
    }
  }

  /** All that wait, in the order of their places. */
  public List<QueuedRequest> all() {
    return entries.all().stream().sorted(Comparator.comparingInt(QueuedRequest::place)).toList();
  }

  /** Those that wait at other servers. */
  public List<RemoteRequest> elsewhere() {
    if (shared.isEmpty()) {
      return List.of();
    }
    return shared.get().list().requestsElsewhere().stream().map(this::elsewhere).toList();
  }

  /** For what a pod's container waits, in words; empty: nothing is asked for it. */
  public Optional<String> waitingFor(String podUid, String container) {
    Optional<String> here =
        entries.all().stream()
            .filter(e -> isFor(e.request, podUid, container))
            .map(e -> waits(e.place(), e.reason()))
            .findFirst();
    return here.or(() ->
        elsewhere().stream()
            .filter(e -> isFor(e.waiting().request(), podUid, container))
            .map(e -> waits(e.place(), e.reason()))
            .findFirst());
  }

  private static boolean isFor(LeaseSpec request, String podUid, String container) {
    return request.pod().filter(pod -> pod.serves(podUid, container)).isPresent();
  }

  private static String waits(int place, String reason) {
    return "place " + place + " in the queue: " + reason;
  }

  /** One of those that wait at other servers. */
  public Optional<RemoteRequest> findElsewhere(String id) {
    return shared.isEmpty() || !id.startsWith("Q")
        ? Optional.empty()
        : shared.get().list().requestsElsewhere().stream()
            .filter(waiting -> id.equals("Q" + waiting.number()))
            .findFirst()
            .map(this::elsewhere);
  }

  private RemoteRequest elsewhere(WaitingRequest waiting) {
    QueuePosition standing = standingElsewhere.get(waiting.number());
    if (standing == null) {
      return new RemoteRequest(waiting, 1, "it has just come", false);
    }
    return new RemoteRequest(
        waiting,
        Math.max(1, standing.place()),
        reason(standing.turn(), waiting.request()),
        standing.turn() instanceof Decision.OverQuota);
  }

  /** Takes a request out of the queue whose asker is at another server, which tells it. */
  public void cancel(RemoteRequest entry) throws StateException {
    shared.orElseThrow().list().cancel(entry.waiting());
    settle();
  }

  /** Refuses all that wait and whoever comes, and ends all leases. */
  public void drain(String reason) {
    stopGranting(reason);
    leases.drain(reason);
  }

  /** Refuses all that wait and whoever comes; leases go on. */
  void stopGranting(String reason) {
    draining = true;
    if (shared.isPresent()) {
      redirect(reason);
      leases.redirectRemoteHolders();
    }
    for (QueuedRequest entry : entries.copy()) {
      remove(entry);
      refuse(entry, Cause.CAUSE_DRAINING, reason);
    }
  }

  private void expire(QueuedRequest entry) {
    if (remove(entry)) {
      refuse(
          entry,
          entry.cause,
          "waited " + shortest(entry.request.waitMillis()) + "; " + entry.reason());
      settleInTime();
    }
  }

  /** Gives turns; to be called whenever something may have become free. */
  public void settle() {
    List<Pending> waiting = new ArrayList<>();
    entries.all().forEach(entry -> waiting.add(entry.waiting));
    shared.ifPresent(s -> waiting.addAll(s.list().others()));
    List<QueuedRequest> moved = new ArrayList<>();
    standingElsewhere.clear();
    int place = 0;
    for (Decision turn : turns(waiting)) {
      QueuedRequest entry = entries.find(turn.waiting().number()).orElse(null);
      if (entry == null) {
        // Its turn is for the server to see to at which it waits.
        place += turn instanceof Decision.Grant ? 0 : 1;
        standingElsewhere.put(turn.waiting().number(), new QueuePosition(place, turn));
        continue;
      }
      switch (turn) {
        case Decision.Grant now -> grant(entry, now);
        case Decision.Unsatisfiable never -> {
          if (mayBeMissingServers(entry)) {
            entry.cause = Cause.CAUSE_NO_MATCH;
            entry.reason = () -> reason(never, entry.request);
            if (updatePosition(entry, ++place)) {
              moved.add(entry);
            }
          } else {
            remove(entry);
            refuse(entry, Cause.CAUSE_NO_MATCH, reason(never, entry.request));
          }
        }
        case Decision.NoCapacity later -> {
          entry.cause =
              capacity.isDraining(later.full().best().gpu().server())
                  ? Cause.CAUSE_DRAINING
                  : Cause.CAUSE_NO_CAPACITY;
          entry.reason = () -> reason(later, entry.request);
          if (updatePosition(entry, ++place)) {
            moved.add(entry);
          }
        }
        case Decision.OverQuota barred -> {
          entry.cause = Cause.CAUSE_DENIED;
          entry.reason = () -> reason(barred, entry.request);
          if (barred.ever()) {
            remove(entry);
            refuse(entry, Cause.CAUSE_DENIED, barred.reason());
          } else if (updatePosition(entry, ++place)) {
            moved.add(entry);
          }
        }
        case Decision.Reserved behind -> {
          entry.cause = Cause.CAUSE_NO_CAPACITY;
          entry.reason = () -> reason(behind, entry.request);
          if (updatePosition(entry, ++place)) {
            moved.add(entry);
          }
        }
      }
    }
    moved.forEach(entry -> entry.asker.queued(entry.place, entry.reason()));
  }

  private String reason(Decision turn, LeaseSpec request) {
    return switch (turn) {
      case Decision.Grant now -> "it is its turn";
      case Decision.Unsatisfiable never ->
          never.reason() + (never.tooLarge() ? "; " + request.howToAskForLess() : "");
      case Decision.NoCapacity later -> leases.rejectionReason(later.full(), request);
      case Decision.OverQuota barred -> barred.reason();
      case Decision.Reserved behind ->
          "what is free is kept for a request that has waited longer (Q"
              + behind.first().number()
              + ")";
    };
  }

  /** A server that has just started does not know those that were there before and come again. */
  private boolean mayBeMissingServers(QueuedRequest entry) {
    return shared.isPresent()
        && entry.known.isPresent()
        && entry.known.get().resumed()
        && timers.nowNanos() - sharedSinceNanos < MISSING_NANOS;
  }

  /** Notes a place; true if it is news to one who waits. */
  private boolean updatePosition(QueuedRequest entry, int place) {
    boolean moved = entry.place != place && entry.request.waitMillis() > 0;
    // Far behind, every step is no news.
    boolean told =
        moved
            && (place <= CROWD
                || entry.toldAtNanos == 0
                || timers.nowNanos() - entry.toldAtNanos > TELL_NANOS);
    if (told) {
      entry.toldAtNanos = timers.nowNanos();
    }
    entry.place = place;
    return told;
  }

  private List<Decision> turns(List<Pending> waiting) {
    return waiting.isEmpty()
        ? List.of()
        : QueueScheduler.decide(waiting, capacity.snapshot(), tenants.budgets(), timers.nowNanos());
  }

  private void grant(QueuedRequest entry, Decision.Grant now) {
    entries.remove(entry);
    try {
      Leases.Granted granted =
          entry.known.isPresent()
              ? leases.grant(entry.request, now.parts(), entry.known.get().id(), taking(entry))
              : leases.grant(entry.request, now.parts());
      entry.limit.ifPresent(Timers.Cancellable::cancel);
      leases.tally().waited((timers.nowNanos() - entry.sinceNanos()) / 1e9);
      entry.asker.granted(granted);
    } catch (RefusedException e) {
      if (e.why() == RefusedException.Why.CHANGED && entry.request.waitMillis() > 0) {
        entries.put(entry);
        timers.after(AGAIN_MILLIS, this::settle);
      } else {
        entry.limit.ifPresent(Timers.Cancellable::cancel);
        refuse(
            entry,
            e.why() == RefusedException.Why.DENIED ? Cause.CAUSE_DENIED : Cause.CAUSE_NO_CAPACITY,
            e.getMessage());
      }
    } catch (StateException e) {
      LOG.warn("request {} cannot be granted: {}", entry.id(), e.getMessage());
      redirect(entry, e.getMessage());
    } catch (IOException e) {
      LOG.error("request {} cannot be granted: {}", entry.id(), e.getMessage());
      entry.limit.ifPresent(Timers.Cancellable::cancel);
      refuse(entry, Cause.CAUSE_NO_CAPACITY, "the server cannot grant it: " + e.getMessage());
    }
  }

  /** One that has been written down as waiting is granted only if it still waits here. */
  private Grants.Beside taking(QueuedRequest entry) {
    String key = entry.known.orElseThrow().key();
    return shared.isPresent() && entry.limit.isPresent()
        ? shared.get().list().taking(key)
        : transaction -> {};
  }

  private boolean remove(QueuedRequest entry) {
    if (!take(entry)) {
      return false;
    }
    if (shared.isPresent() && entry.known.isPresent()) {
      try {
        shared.get().list().remove(entry.known.get().key());
      } catch (StateException e) {
        LOG.debug("request {} is forgotten later: {}", entry.id(), e.getMessage());
      }
    }
    return true;
  }

  private boolean take(QueuedRequest entry) {
    entry.limit.ifPresent(Timers.Cancellable::cancel);
    return entries.remove(entry);
  }

  /** Refuses what has no place in the queue without a number, a look at the GPUs, or a log line. */
  private QueuedRequest refuseCheaply(
      LeaseSpec request, Asker asker, Optional<ResumableRequest> known, String reason) {
    QueuedRequest entry = new QueuedRequest(request, waiting(0, request), asker, known);
    tell(entry, Cause.CAUSE_NO_CAPACITY, reason);
    return entry;
  }

  private void refuse(QueuedRequest entry, Cause cause, String reason) {
    LOG.info("lease refused: asked for {}; {}", entry.request.ask().describe(), reason);
    tell(entry, cause, reason);
  }

  private void tell(QueuedRequest entry, Cause cause, String reason) {
    String text = "asked for " + entry.request.ask().describe() + "; " + reason;
    String label = cause.name().substring("CAUSE_".length()).toLowerCase(Locale.ROOT);
    leases.tally().add(Metric.REQUESTS_REFUSED, 1, entry.request.tenant(), label);
    entry.asker.refused(cause, text);
  }

  private static String shortest(long millis) {
    return Duration.ofMillis(millis).toString().substring(2).toLowerCase(Locale.ROOT);
  }
}
