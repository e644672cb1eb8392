// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.session;

import io.gpupool.runtime.Timers;
import io.gpupool.server.control.CoalescedTask;
import io.gpupool.server.identity.Principal;
import io.gpupool.server.image.SessionImages;
import io.gpupool.server.lease.lifecycle.Lease;
import io.gpupool.server.lease.lifecycle.LeaseService;
import io.gpupool.server.lease.store.SuspensionStore;
import io.gpupool.server.lease.suspend.LeaseResumptions;
import io.gpupool.server.placement.LeaseId;
import io.gpupool.server.records.GrantRecord;
import io.gpupool.server.records.SuspensionRecord;
import io.gpupool.server.state.StateException;
import io.gpupool.wire.SessionId;
import io.gpupool.wire.SessionKey;
import io.gpupool.wire.TextMessage;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.Executor;
import java.util.function.Consumer;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The suspensions and resumptions of this server's leases, by what their records say: it looks a
 * moment after each change and once a second. Owned by the control thread.
 */
public final class SessionSuspensions {
  private static final long EACH_MILLIS = 1000;
  private static final Logger LOG = LoggerFactory.getLogger(SessionSuspensions.class);

  private final Sessions sessions;
  private final LeaseService leases;
  private final SuspensionStore store;
  private final String server;
  private final Timers timers;
  private final Executor control;
  private final @Nullable SessionImages images;
  private final @Nullable SavedSessions saved;
  private final IdleLeases idle;
  private final Map<LeaseId, Suspending> suspending = new HashMap<>();
  private final Map<LeaseId, Resuming> resuming = new HashMap<>();
  private final List<Waiter> waiters = new ArrayList<>();
  private @Nullable LeaseResumptions resumptions;

  /** A caller that waits for the end of something that is true of a suspension. */
  private record Waiter(
      LeaseId lease,
      String suspension,
      Predicate<SuspensionRecord> lasts,
      Consumer<Optional<SuspensionRecord>> then) {}

  SessionSuspensions(
      Sessions sessions, LeaseService leases, Timers timers, Executor control, SessionFiles files) {
    this.sessions = sessions;
    this.leases = leases;
    this.timers = timers;
    this.control = control;
    images = files.images();
    saved = images == null ? null : new SavedSessions(images, files.disk());
    store = leases.store().suspensions();
    server = leases.store().server();
    idle = new IdleLeases(leases, sessions, timers);
  }

  /**
   * Goes by the records from now on.
   *
   * @param waking asks for the room with which leases go on
   */
  public void start(LeaseResumptions waking) {
    resumptions = waking;
    Map<LeaseId, SuspensionRecord> all = own();
    if (saved != null) {
      saved.load(all);
    }
    all.forEach(this::settle);
    store.whenChanged(new CoalescedTask(control, timers, this::reconcile));
    eachSecond();
  }

  /** Ends what the server's former process had begun. */
  private void settle(LeaseId id, SuspensionRecord record) {
    try {
      switch (record.phase()) {
        case SUSPENDING -> {
          store.fail(id, record.id(), "server " + server + " was started anew");
          goOnHere(id, record);
        }
        // The workers of its sessions were not taken over.
        case SAVED, RESUMING -> store.release(id, record.id(), "");
        case ASKED, SUSPENDED -> {}
        case FAILED -> goOnHere(id, record);
      }
    } catch (StateException e) {
      LOG.error("lease {} stays as it was when the server ended: {}", id, e.getMessage());
    }
  }

  private void goOnHere(LeaseId id, SuspensionRecord record) {
    leases
        .get(id)
        .ifPresent(lease ->
            sessions.of(lease).stream()
                .filter(Session::isServed)
                .forEach(session -> session.worker().send(Departure.end(record.id(), false))));
  }

  private void eachSecond() {
    timers.after(EACH_MILLIS, this::eachSecond);
    idle.suspend();
    reconcile();
  }

  private Map<LeaseId, SuspensionRecord> own() {
    Map<LeaseId, SuspensionRecord> own = store.all();
    own.values().removeIf(record -> !record.part().gpu().server().equals(server));
    return own;
  }

  private void reconcile() {
    Map<LeaseId, SuspensionRecord> own = own();
    own.forEach(this::reconcile);
    for (Map.Entry<LeaseId, Resuming> one : Map.copyOf(resuming).entrySet()) {
      if (!own.containsKey(one.getKey())) {
        one.getValue().giveUp("the lease has ended");
      }
    }
    List.copyOf(suspending.values()).forEach(Suspending::proceed);
    if (saved != null) {
      saved.keep(own);
    }
    if (resumptions != null) {
      resumptions.keep(own);
    }
    tellWaiters();
  }

  private void reconcile(LeaseId id, SuspensionRecord record) {
    switch (record.phase()) {
      case ASKED -> {
        if (!suspending.containsKey(id)) {
          begin(id, record);
        }
      }
      case SUSPENDED -> {
        if (record.isWanted() && resumptions != null && !suspending.containsKey(id)) {
          resumptions.ask(id, record, lease -> resume(lease, record));
        }
      }
      case SUSPENDING, SAVED -> {
        if (!suspending.containsKey(id)) {
          settle(id, record);
        }
      }
      case RESUMING -> {
        if (!resuming.containsKey(id)) {
          settle(id, record);
        }
      }
      case FAILED -> {}
    }
  }

  private void begin(LeaseId id, SuspensionRecord record) {
    try {
      leases.adopt(id);
      Optional<Lease> lease = leases.get(id).filter(found -> found.state().isAlive());
      if (images == null || saved == null) {
        store.fail(
            id,
            record.id(),
            "server " + server + " has no folder for it: start it with --state or --suspend-dir");
      } else if (lease.isEmpty()) {
        store.fail(id, record.id(), "the lease has ended");
      } else if (store.start(id, record.id())) {
        LOG.info("lease {} is being suspended", id);
        Suspending begun =
            new Suspending(
                lease.get(),
                record,
                idle.leastMillis(record),
                new Suspending.Surroundings(
                    sessions, leases, images, timers, control, saved::add, () -> over(id)));
        suspending.put(id, begun);
        begun.proceed();
      }
    } catch (StateException e) {
      LOG.debug("lease {} is not suspended yet: {}", id, e.getMessage());
    }
  }

  private void over(LeaseId id) {
    suspending.remove(id);
    apply(id);
    announceRoom();
    control.execute(this::reconcile);
  }

  /** Restores the sessions of a lease that has a share again. */
  private void resume(Lease lease, SuspensionRecord record) {
    if (images == null || saved == null) {
      throw new IllegalStateException("a suspended lease without images");
    }
    LeaseId id = lease.id();
    Resuming begun =
        new Resuming(
            lease,
            record,
            new Resuming.Surroundings(
                sessions, leases, images, timers, control, reason -> over(id, reason)));
    resuming.put(id, begun);
    begun.begin(saved.of(id));
  }

  private void over(LeaseId id, String reason) {
    resuming.remove(id);
    if (!reason.isEmpty() && resumptions != null) {
      resumptions.failed(id, reason);
      apply(id);
      announceRoom();
    }
    control.execute(this::reconcile);
  }

  /** Has a lease go on as its record says. */
  private void apply(LeaseId id) {
    Optional<GrantRecord> record = leases.store().get(id);
    leases.get(id).ifPresent(lease -> record.ifPresent(now -> leases.apply(lease, now)));
  }

  private void announceRoom() {
    if (resumptions != null) {
      resumptions.announceRoom();
    }
  }

  private void tellWaiters() {
    for (Waiter waiter : List.copyOf(waiters)) {
      Optional<SuspensionRecord> record = record(waiter);
      if (record.filter(waiter.lasts()).isEmpty() && waiters.remove(waiter)) {
        waiter.then().accept(record);
      }
    }
  }

  private Optional<SuspensionRecord> record(Waiter waiter) {
    return store.get(waiter.lease()).filter(found -> found.id().equals(waiter.suspension()));
  }

  /**
   * Calls back when something is not true of a suspension any more, or after a time.
   *
   * @param lasts whether to wait on; not asked once there is no such suspension
   * @param then takes the record; empty: the lease goes on, or has ended
   */
  public void whenNoLonger(
      LeaseId lease,
      String suspension,
      Predicate<SuspensionRecord> lasts,
      long limitMillis,
      Consumer<Optional<SuspensionRecord>> then) {
    Waiter waiter = new Waiter(lease, suspension, lasts, then);
    waiters.add(waiter);
    control.execute(this::tellWaiters);
    timers.after(
        limitMillis,
        () -> {
          if (waiters.remove(waiter)) {
            then.accept(record(waiter));
          }
        });
  }

  /** Returns whether the sessions of a lease are being saved, so that they may be gone soon. */
  boolean isSaving(LeaseId id) {
    return suspending.containsKey(id)
        && store.get(id).filter(SuspensionRecord::isSaving).isPresent();
  }

  /** Returns the suspension of a lease whose sessions are being saved. */
  public Optional<SuspensionRecord> saving(LeaseId id) {
    return store.get(id).filter(_ -> isSaving(id));
  }

  /** Has an action run when the sessions of a lease are saved, or are known to go on. */
  void whenSettled(LeaseId id, Runnable action) {
    store
        .get(id)
        .ifPresentOrElse(
            record ->
                whenNoLonger(
                    id,
                    record.id(),
                    SuspensionRecord::isSaving,
                    Suspending.LIMIT_MILLIS,
                    _ -> action.run()),
            action);
  }

  /** Returns the lease of a session that is saved here, by the session's key. */
  public Optional<SuspendedSession> find(SessionId id, SessionKey key) {
    return saved == null
        ? Optional.empty()
        : saved
            .find(id, key)
            .flatMap(session ->
                store
                    .get(session.moving().lease())
                    .filter(SuspensionRecord::isSaved)
                    .map(record -> new SuspendedSession(session.moving().lease(), record)));
  }

  /**
   * A session that is suspended.
   *
   * @param lease that it belongs to
   */
  public record SuspendedSession(LeaseId lease, SuspensionRecord suspension) {}

  /** Asks for a suspended lease to be resumed. */
  public void want(LeaseId id, Principal principal) throws StateException {
    store.want(id, principal);
  }

  /** Returns the suspension of a lease whose sessions are saved. */
  public Optional<SuspensionRecord> of(LeaseId id) {
    return store.get(id).filter(SuspensionRecord::isSaved);
  }

  /** Forgets a session whose program has left. */
  public void close(SessionId id, SessionKey key) throws StateException {
    if (saved == null) {
      return;
    }
    Optional<SavedSession> session = saved.find(id, key);
    if (session.isPresent()) {
      store.forget(session.get().moving().lease(), id.toString());
      saved.remove(session.get());
    }
  }

  /** Takes what a worker says whose session is being saved. */
  void onMessage(Session session, TextMessage message) {
    Suspending one = suspending.get(session.lease().id());
    if (one != null) {
      one.onMessage(session, message);
    }
  }
}
