// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.lease.lifecycle;

import io.gpupool.runtime.Timers;
import io.gpupool.server.capacity.Capacity;
import io.gpupool.server.identity.LeaseSecret;
import io.gpupool.server.identity.Principal;
import io.gpupool.server.identity.TokenHash;
import io.gpupool.server.lease.model.LeaseHold;
import io.gpupool.server.lease.model.LeaseState;
import io.gpupool.server.lease.model.LeasedSession;
import io.gpupool.server.lease.store.LeaseStore;
import io.gpupool.server.lease.store.NewLease;
import io.gpupool.server.lease.usage.FormerUsage;
import io.gpupool.server.lease.usage.GpuScheduleTable;
import io.gpupool.server.metrics.Metric;
import io.gpupool.server.metrics.ServerMetrics;
import io.gpupool.server.placement.LeaseId;
import io.gpupool.server.placement.Placement.Part;
import io.gpupool.server.records.GrantRecord;
import io.gpupool.server.records.LeaseSpec;
import io.gpupool.server.rejection.RefusedException;
import io.gpupool.server.state.StateException;
import java.io.IOException;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The leases of this server. Takes events, moves each lease on by the table of {@link
 * LeaseStateMachine} and runs the effects. A lease is granted once it is recorded, and what it had
 * is free once its record is gone. Owned by the control thread.
 */
public final class LeaseService {
  private static final int MAX_LEASES = 4096;
  private static final Logger LOG = LoggerFactory.getLogger(LeaseService.class);

  private final LeaseStore store;
  private final LeaseFactory factory;
  private final Timers timers;
  private final LeaseFacts facts;
  private final LeaseEffects effects;
  private final LeaseIntake intake;
  private final LeaseLimitWatch limits;
  private final ServerMetrics metrics = new ServerMetrics();
  private final Map<LeaseId, Lease> leases = new LinkedHashMap<>();

  /** Leases that have other GPUs now, as long as workers of them are alive here. */
  private final Set<Lease> leaving = new HashSet<>();

  /** Leases that are being recorded; a look at the records may find them already. */
  private final Set<LeaseId> pendingGrants = new HashSet<>();

  private Consumer<Lease> ending = lease -> {};

  /** Whether the leases are the server's next process's. */
  private boolean left;

  /**
   * Makes the service, without leases yet.
   *
   * @param room hears of room that becomes free
   * @param noteRemoteWork shows a lease's clock what its programs do at other servers
   */
  public LeaseService(
      LeaseStore store,
      Capacity capacity,
      Timers timers,
      GpuScheduleTable times,
      RoomSignal room,
      Consumer<Lease> noteRemoteWork) {
    this.store = store;
    this.timers = timers;
    factory = new LeaseFactory(store, capacity.members(), timers, times);
    facts = new LeaseFacts(store, capacity.members());
    effects =
        new LeaseEffects(
            store,
            capacity.members(),
            timers,
            metrics,
            this::on,
            this::forget,
            this::unlist,
            room::announce);
    intake = new LeaseIntake(store, factory, capacity, this::takeIn);
    limits = new LeaseLimitWatch(timers, noteRemoteWork, this::end);
  }

  /** Has {@code action} see each lease for the last time, with what it has used. */
  public void whenEnding(Consumer<Lease> action) {
    ending = action;
  }

  /** The counters of what has happened on this server, to leases and to their sessions. */
  public ServerMetrics metrics() {
    return metrics;
  }

  /** The records of leases. */
  public LeaseStore store() {
    return store;
  }

  public List<Lease> all() {
    return new ArrayList<>(leases.values());
  }

  /** A lease that this server has, in whatever state. */
  public Optional<Lease> get(LeaseId id) {
    return Optional.ofNullable(leases.get(id));
  }

  /**
   * Takes in the leases that were granted before a restart. Their holders have a while to come
   * back.
   *
   * @param former what the sessions have left that go on; the others are dead
   */
  public void restore(FormerUsage former) throws IOException {
    intake.restore(former);
  }

  /** Leaves all leases as they are to the server's next process: nothing happens to them here. */
  public void leave() {
    redirectRemoteHolders();
    left = true;
  }

  /**
   * Takes in a lease that another server has granted, or that this one was not told of, if it is on
   * this server's GPUs or held here.
   */
  public void adopt(LeaseId id) {
    if (!leases.containsKey(id) && !pendingGrants.contains(id)) {
      intake.adopt(id);
    }
  }

  /**
   * Prepares for a lease that moves to a GPU of this server. It is not among the leases until it is
   * adopted.
   *
   * @throws IOException if the server cannot, for want of files
   */
  public Lease expect(LeaseId id, GrantRecord record) throws IOException {
    return intake.expect(id, record);
  }

  /** Gives up on a lease that was expected; its workers are dead. */
  public void unexpect(Lease lease) {
    intake.unexpect(lease);
  }

  /** Whether workers of a lease that has moved away are still alive here. */
  public boolean isLeaving(LeaseId id) {
    return leaving.stream().anyMatch(lease -> lease.id().equals(id));
  }

  /** Lets go of a lease that this server has if its record says that it has another GPU now. */
  public void checkPlace(LeaseId id) {
    Optional<GrantRecord> record = store.get(id);
    get(id)
        .filter(lease -> lease.state().isAlive() && record.isPresent())
        .ifPresent(lease -> checkPlace(lease, record.orElseThrow()));
  }

  /** Lets go of a lease if the record says that it has another GPU now. */
  public void checkPlace(Lease lease, GrantRecord record) {
    if (!lease.isPlacedAs(record)) {
      LeaseLog.info(lease).log("lease {} has moved to another GPU", lease.id());
      on(lease, LeaseEvent.MOVED_AWAY);
    }
  }

  /** A lease on other servers' GPUs, as this one sees it without taking it in. */
  Optional<Lease> remote(LeaseId id) {
    return pendingGrants.contains(id) ? Optional.empty() : intake.remote(id);
  }

  /**
   * Makes a lease of parts that are free. One commit records the grant, its holder and that its
   * request waits no more.
   *
   * @param hold keeps the lease alive from the start
   * @param queueKey of the request, if it is recorded as waiting
   * @throws IOException if the server cannot, for want of files or disk
   * @throws RefusedException if the parts are not free any more, or the tenant may not
   */
  public GrantedLease grant(
      LeaseSpec spec,
      List<Part> parts,
      LeaseSecret secret,
      LeaseHold hold,
      @Nullable String queueKey)
      throws IOException, RefusedException {
    LeaseGrant grant = new LeaseGrant(spec, parts, secret.hash(), queueKey, store.server(), hold);
    return new GrantedLease(grantTogether(List.of(grant)).getFirst(), secret);
  }

  /**
   * Makes leases of parts that are free, all by one commit or none. Those of clients at other
   * servers are held there, as soon as these servers see the commit.
   *
   * @return the leases of this server's clients, in their order
   * @throws IOException if the server cannot, for want of files or disk
   * @throws RefusedException if parts are not free any more, or the tenant may not
   */
  public List<Lease> grantTogether(List<LeaseGrant> grants) throws IOException, RefusedException {
    if (leases.size() + grants.size() > MAX_LEASES) {
      throw new IOException("it has " + leases.size() + " of at most " + MAX_LEASES + " leases");
    }
    List<NewLease> recorded = new ArrayList<>();
    Map<Lease, LeaseHold> held = new LinkedHashMap<>();
    try {
      for (LeaseGrant grant : grants) {
        LeaseId id = store.nextId();
        GrantRecord record = store.record(grant.spec(), grant.secret(), grant.parts());
        if (grant.hold() != null) {
          held.put(factory.make(id, record, grant.parts()), grant.hold());
          pendingGrants.add(id);
        }
        recorded.add(
            new NewLease(
                id,
                record,
                grant.parts(),
                grant.spec().principal(),
                grant.queueKey(),
                grant.server()));
      }
      store.grant(recorded);
    } catch (IOException | RefusedException | RuntimeException e) {
      held.keySet().forEach(Lease::closeUsage);
      throw e;
    } finally {
      pendingGrants.clear();
    }
    held.forEach(this::begin);
    return List.copyOf(held.keySet());
  }

  private void begin(Lease lease, LeaseHold hold) {
    lease.startAtHolderRevision(store.holderRevision(lease.id()));
    lease.add(hold);
    add(lease);
    metrics.add(Metric.LEASES_GRANTED, 1, lease.tenant());
    LeaseLog.info(lease)
        .log(
            "lease {} granted to {}: {}", lease.id(), lease.holder(), Part.describe(lease.parts()));
  }

  /** Has a stream keep a lease alive. */
  public void hold(Lease lease, LeaseHold hold) {
    leases.putIfAbsent(lease.id(), lease);
    lease.add(hold);
    on(lease, LeaseEvent.HOLDER_CAME);
  }

  /** A stream that held the lease broke; its holder comes back if it can. */
  public void loseHold(Lease lease, LeaseHold hold) {
    if (lease.removeLast(hold)) {
      on(lease, LeaseEvent.HOLDER_LOST);
    }
  }

  /** A holder has closed its stream, without releasing the lease. */
  public void releaseHold(Lease lease, LeaseHold hold) {
    if (lease.removeLast(hold)) {
      on(lease, LeaseEvent.HOLDER_LEFT);
    }
  }

  /**
   * Ends a lease as someone asks: kills its sessions; its parts are free when the last worker is
   * dead.
   *
   * @throws StateException if that cannot be recorded; then the lease goes on
   */
  public void release(Lease lease, Principal principal, String reason) throws StateException {
    if (!lease.state().isAlive()) {
      return;
    }
    if (store.end(lease.id(), effects.serversWithoutSessions(lease), principal, reason)) {
      effects.countEnd(lease, principal, lease.state());
    }
    on(lease, LeaseEvent.END_RECORDED, reason);
  }

  /** Ends a lease for a reason of the pool's, whatever the disk says. */
  public void end(Lease lease, String reason) {
    on(lease, LeaseEvent.END, reason);
  }

  /** Ends all leases on this server's GPUs; the holders of others go to another server. */
  public void endAll(String reason) {
    redirectRemoteHolders();
    for (Lease lease : all()) {
      end(lease, lease.topology().spans() ? reason + " (" + store.server() + ")" : reason);
    }
  }

  /** Has the holders of leases on other servers' GPUs go to another server. */
  public void redirectRemoteHolders() {
    all().forEach(lease -> on(lease, LeaseEvent.SERVER_LEAVES));
  }

  /** Ends what was asked for with a token. */
  public void endLeasesOf(TokenHash token, String reason) {
    all().stream()
        .filter(lease -> lease.token().equals(Optional.of(token)))
        .forEach(lease -> end(lease, reason));
  }

  /** Must be called when a session's worker is dead. */
  public void sessionGone(Lease lease, LeasedSession session) {
    lease.remove(session);
    if (lease.sessions().isEmpty()) {
      on(lease, LeaseEvent.SESSIONS_GONE);
    }
  }

  /** Has a lease go on as its record says, if that was changed. */
  public void apply(Lease lease, GrantRecord record) {
    Optional<List<Part>> parts = lease.partsIfChanged(record);
    if (parts.isPresent()) {
      lease.change(parts.get(), record.leaseClass(), timers.nowNanos());
      LeaseLog.info(lease)
          .log(
              "lease {} is of class {}: {}",
              lease.id(),
              lease.leaseClass().text(),
              Part.describe(parts.get()));
    }
  }

  /** Goes by what the records say of the server that has a lease's holder. */
  public void checkHolder(Lease lease) {
    if (lease.noteHolderRevision(store.holderRevision(lease.id()))) {
      on(lease, LeaseEvent.HOLDER_RECORDED);
    }
    on(lease, LeaseEvent.RECONCILED);
  }

  /** Takes an end that this server or another has recorded already. */
  public void endRecorded(Lease lease, String reason) {
    on(lease, LeaseEvent.END_RECORDED, reason);
  }

  private void on(Lease lease, LeaseEvent event) {
    on(lease, event, "");
  }

  private void on(Lease lease, LeaseEvent event, String reason) {
    if (left) {
      return;
    }
    LeaseState before = lease.state();
    LeaseStateMachine.Step step =
        LeaseStateMachine.next(before, event, () -> facts.of(lease), reason);
    lease.enter(step.state());
    LeaseLog.step(lease, event, before);
    step.effects().forEach(effect -> effects.run(effect, lease, before));
  }

  private void takeIn(Lease lease, LeaseEvent event) {
    add(lease);
    on(lease, event);
    if (lease.state() instanceof LeaseState.Grace) {
      LOG.info("lease {} of {} waits for its holder", lease.id(), lease.holder());
    }
  }

  private void add(Lease lease) {
    leases.put(lease.id(), lease);
    limits.watch(lease);
  }

  private void unlist(Lease lease) {
    leases.remove(lease.id(), lease);
    leaving.add(lease);
  }

  private void forget(Lease lease) {
    leases.remove(lease.id(), lease);
    leaving.remove(lease);
    lease.countTime(metrics, timers.nowNanos());
    ending.accept(lease);
    lease.closeUsage();
  }
}
