// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.lease.lifecycle;

import io.gpupool.runtime.Timers;
import io.gpupool.server.gpu.Gpu;
import io.gpupool.server.gpu.GpuKey;
import io.gpupool.server.gpu.LeaseClass;
import io.gpupool.server.identity.HolderName;
import io.gpupool.server.identity.LeasePod;
import io.gpupool.server.identity.TokenHash;
import io.gpupool.server.lease.model.LeaseHold;
import io.gpupool.server.lease.model.LeaseState;
import io.gpupool.server.lease.model.LeaseTopology;
import io.gpupool.server.lease.model.LeasedSession;
import io.gpupool.server.lease.usage.GpuScheduleTable;
import io.gpupool.server.lease.usage.LeaseLedger;
import io.gpupool.server.lease.usage.LeaseTime;
import io.gpupool.server.lease.usage.LeaseUsage;
import io.gpupool.server.limits.LeaseClock;
import io.gpupool.server.metrics.Metric;
import io.gpupool.server.metrics.ServerMetrics;
import io.gpupool.server.placement.LeaseId;
import io.gpupool.server.placement.Placement.Part;
import io.gpupool.server.records.GangKey;
import io.gpupool.server.records.GrantRecord;
import java.io.IOException;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A granted lease as one server has it: its state, its holds and its sessions. Owned by the control
 * thread; only {@link LeaseService} moves it on, by the table of {@link LeaseStateMachine}.
 */
public final class Lease {
  /** Sessions that one lease can have at a time; the ledger has a slot for each. */
  public static final int MAX_SESSIONS = LeaseLedger.SLOTS;

  private static final Logger LOG = LoggerFactory.getLogger(Lease.class);

  private final LeaseId id;
  private final GrantRecord grant;
  private final LeaseLedger ledger;
  private final LeaseTime time;
  private final LeaseClock clock;
  private final long grantedAtNanos;
  private LeaseClass leaseClass;
  private LeaseTopology topology;
  private final Set<LeaseHold> holds = new LinkedHashSet<>();
  private final Map<Integer, LeasedSession> sessions = new LinkedHashMap<>();
  private long sessionsOpened;
  private LeaseState state = new LeaseState.Held();

  /** Of the record of where the holder is, as this server has seen it last; 0: there was none. */
  private long holderRevision;

  private Timers.Cancellable stateTimer = () -> {};
  private Timers.Cancellable limitTimer = () -> {};

  Lease(
      LeaseId id,
      GrantRecord grant,
      LeaseTopology topology,
      LeaseLedger ledger,
      LeaseTime time,
      LeaseClock clock,
      long grantedAtNanos) {
    this.id = id;
    this.grant = grant;
    this.topology = topology;
    this.ledger = ledger;
    this.time = time;
    this.clock = clock;
    this.grantedAtNanos = grantedAtNanos;
    leaseClass = grant.leaseClass();
  }

  public LeaseId id() {
    return id;
  }

  public HolderName holder() {
    return grant.holder();
  }

  public String tenant() {
    return grant.tenant();
  }

  /** Returns the gang that the lease belongs to; empty: none. */
  public Optional<GangKey> gang() {
    return grant.owner().gangKey();
  }

  /** The token with which the lease was asked for. */
  public Optional<TokenHash> token() {
    return Optional.ofNullable(grant.token());
  }

  /** The pod that the lease is for. */
  public Optional<LeasePod> pod() {
    return grant.pod();
  }

  public boolean hasSecret(String secret) {
    return grant.secretHash().matches(secret);
  }

  public LeaseLedger ledger() {
    return ledger;
  }

  public LeaseTime time() {
    return time;
  }

  public LeaseClock clock() {
    return clock;
  }

  public long grantedAtNanos() {
    return grantedAtNanos;
  }

  public LeaseState state() {
    return state;
  }

  /** The kind of work that its programs do. */
  public LeaseClass leaseClass() {
    return leaseClass;
  }

  /** The servers that have its GPUs. */
  public LeaseTopology topology() {
    return topology;
  }

  /** What it has of each of its GPUs, in the order in which its programs see them. */
  public List<Part> parts() {
    return topology.parts();
  }

  /** Whether a stream at this server holds it. */
  public boolean isHeldHere() {
    return !holds.isEmpty();
  }

  /** Whether its GPUs are other servers', and this one has at most its holder. */
  public boolean isRemote() {
    return topology.isRemote();
  }

  /** Whether its holder need not stay connected: it comes back now and then. */
  public boolean isRenewable() {
    return clock.limits().graceMillis() > 0;
  }

  /** The time that its sessions outlive a broken connection; 0: none. */
  public long resumeWindowMillis() {
    return clock.limits().resumeWindowMillis();
  }

  /** A copy, so that sessions may end while a caller goes through it. */
  public List<LeasedSession> sessions() {
    return new ArrayList<>(sessions.values());
  }

  /** Shows its clock what its programs have done. */
  public void noteWork(long nowNanos) {
    long done = sessionsOpened;
    boolean busy = false;
    for (LeasedSession session : sessions.values()) {
      done += session.calls();
      busy |= session.isWaiting();
    }
    for (int part = 0; part < topology.own().size(); part++) {
      done += time.use(part).usedNanos();
    }
    clock.note(done, busy, nowNanos);
  }

  /** The lowest slot without a session, if there is one. */
  public Optional<Integer> freeSlot() {
    for (int slot = 0; slot < MAX_SESSIONS; slot++) {
      if (!sessions.containsKey(slot)) {
        return Optional.of(slot);
      }
    }
    return Optional.empty();
  }

  public void add(LeasedSession session) {
    sessions.put(session.slot(), session);
    sessionsOpened++;
    time.enterSession(session.slot());
  }

  /**
   * Adds a session that the server's former process has left, with its entries in ledger and time.
   */
  public void addTakenOver(LeasedSession session) {
    sessions.put(session.slot(), session);
    sessionsOpened++;
  }

  /** Its usage now, as a session with this slot takes part in it. */
  public LeaseUsage usage(int slot, long nowNanos, long wallMillis) {
    return time.usage(ledger, slot, nowNanos, wallMillis);
  }

  void remove(LeasedSession session) {
    sessions.remove(session.slot(), session);
    ledger.clearSlot(session.slot());
    time.leaveSession(session.slot());
  }

  void add(LeaseHold hold) {
    holds.add(hold);
  }

  /** Removes a hold. Returns whether it was the last one. */
  boolean removeLast(LeaseHold hold) {
    return holds.remove(hold) && holds.isEmpty();
  }

  /** Removes all holds, so that each hears at most once that the lease has ended or moved. */
  List<LeaseHold> removeHolds() {
    List<LeaseHold> all = List.copyOf(holds);
    holds.clear();
    return all;
  }

  /** Moves on to a state. What was planned in another one is off. */
  void enter(LeaseState next) {
    if (next.phase() != state.phase()) {
      stateTimer.cancel();
    }
    if (!next.isAlive()) {
      limitTimer.cancel();
    }
    state = next;
  }

  /** Plans something that happens only if the lease is still in this phase, in place of another. */
  void plan(Timers.Cancellable timer) {
    stateTimer.cancel();
    stateTimer = timer;
  }

  void planLimitCheck(Timers.Cancellable timer) {
    limitTimer = timer;
  }

  void startAtHolderRevision(long revision) {
    holderRevision = revision;
  }

  /** Notes the revision of the record of where its holder is. Returns whether it has changed. */
  boolean noteHolderRevision(long revision) {
    boolean changed = revision != holderRevision;
    holderRevision = revision;
    return changed;
  }

  /** Its parts as a record has them, if that has other shares or is of another class. */
  Optional<List<Part>> partsIfChanged(GrantRecord record) {
    if (record.parts().size() < parts().size()) {
      return Optional.empty();
    }
    List<Part> recorded = new ArrayList<>();
    for (int i = 0; i < parts().size(); i++) {
      Part part = parts().get(i);
      GrantRecord.PartRecord written = record.parts().get(i);
      recorded.add(new Part(part.gpu(), part.partition(), written.share(), written.hard()));
    }
    return recorded.equals(parts()) && record.leaseClass() == leaseClass
        ? Optional.empty()
        : Optional.of(recorded);
  }

  /** Whether a record says that it has the GPUs that this server knows it by. */
  boolean isPlacedAs(GrantRecord record) {
    return record.parts().size() != parts().size()
        || parts().stream().allMatch(part -> record.isOn(GpuKey.of(part.gpu())));
  }

  /** Closes ledger and time; nothing of it may be alive here. */
  void closeUsage() {
    time.close();
    try {
      ledger.close();
    } catch (IOException e) {
      LOG.warn("lease {}: cannot close its ledger", id, e);
    }
  }

  /** Has other shares of the same GPUs from now on, or is of another class. */
  void change(List<Part> otherParts, LeaseClass otherClass, long nowNanos) {
    topology = topology.with(otherParts);
    leaseClass = otherClass;
    time.change(topology.own(), leaseClass, nowNanos);
  }

  /** Counts the time that it had of its GPUs. */
  public void countTime(ServerMetrics metrics, long nowNanos) {
    for (int i = 0; i < topology.own().size(); i++) {
      Gpu gpu = topology.own().get(i).gpu();
      String[] labels = {tenant(), gpu.server(), Integer.toString(gpu.ordinal())};
      GpuScheduleTable.Use use = time.use(i);
      metrics.add(Metric.GRANTED_NANOS, time.grantedNanos(i, nowNanos), labels);
      metrics.add(Metric.GPU_NANOS, use.usedNanos(), labels);
      metrics.add(Metric.WAITED_NANOS, use.waitedNanos(), labels);
      metrics.add(Metric.THROTTLED_NANOS, use.throttledNanos(), labels);
    }
  }
}
