// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.lease;

import io.gpupool.runtime.Timers;
import io.gpupool.server.gpu.LeaseClass;
import io.gpupool.server.identity.HolderName;
import io.gpupool.server.identity.LeasePod;
import io.gpupool.server.identity.LeaseSecret;
import io.gpupool.server.identity.TokenHash;
import io.gpupool.server.lease.model.LeaseHold;
import io.gpupool.server.lease.model.LeaseTopology;
import io.gpupool.server.lease.model.LeasedSession;
import io.gpupool.server.lease.usage.LeaseLedger;
import io.gpupool.server.lease.usage.LeaseTime;
import io.gpupool.server.limits.LeaseClock;
import io.gpupool.server.placement.LeaseId;
import io.gpupool.server.placement.Placement.Part;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;

/**
 * A granted lease. Owned by the control thread; {@link Leases} moves it on.
 *
 * <pre>
 *   HELD --last hold ends--> GRACE --one second--> ENDING --workers dead--> gone
 *     ^------ hold opened ------+                    ^
 *     +--------- released, or ended by the pool -----+
 * </pre>
 */
public final class Lease {
  public enum State {
    HELD,
    GRACE,
    ENDING
  }

  /** Sessions that one lease can have at a time; the ledger has a slot for each. */
  public static final int MAX_SESSIONS = LeaseLedger.SLOTS;

  public final LeaseId id;
  public final LeaseSecret.Hash secretHash;
  public final HolderName holder;
  public final String tenant;
  final Optional<TokenHash> token;

  /** Whose it is, if one's. */
  public final Optional<LeasePod> pod;

  private LeaseClass leaseClass;
  private LeaseTopology topology;
  public final LeaseLedger ledger;
  public final LeaseTime time;
  public final LeaseClock clock;
  public final long grantedAtNanos;
  final Set<LeaseHold> holds = new LinkedHashSet<>();
  private final Map<Integer, LeasedSession> sessions = new LinkedHashMap<>();
  private long sessionsOpened;
  State state = State.HELD;

  /** Since when one of its servers has been gone; empty: all are there. */
  Optional<Long> partnerGoneSinceNanos = Optional.empty();

  /** Why it has ended, once it has. */
  String endReason = "";

  /** Of the record of where its holder is, as this server has seen it last; 0: there was none. */
  long holdRevision;

  Optional<Timers.Cancellable> graceTimer = Optional.empty();
  Optional<Timers.Cancellable> limitTimer = Optional.empty();

  Lease(
      LeaseId id,
      LeaseSecret.Hash secretHash,
      HolderName holder,
      String tenant,
      Optional<TokenHash> token,
      Optional<LeasePod> pod,
      LeaseClass leaseClass,
      LeaseTopology topology,
      LeaseLedger ledger,
      LeaseTime time,
      LeaseClock clock,
      long grantedAtNanos) {
    this.id = id;
    this.secretHash = secretHash;
    this.holder = holder;
    this.tenant = tenant;
    this.token = token;
    this.pod = pod;
    this.leaseClass = leaseClass;
    this.topology = topology;
    this.ledger = ledger;
    this.time = time;
    this.clock = clock;
    this.grantedAtNanos = grantedAtNanos;
  }

  public State state() {
    return state;
  }

  /** What its programs do with a GPU's time. */
  public LeaseClass leaseClass() {
    return leaseClass;
  }

  /** Over which servers it reaches. */
  public LeaseTopology extent() {
    return topology;
  }

  /** What it has of each of its GPUs, in the order in which its programs see them. */
  public List<Part> parts() {
    return topology.parts();
  }

  /** Has other shares of the same GPUs from now on, or is of another class. */
  void change(List<Part> otherParts, LeaseClass otherClass, long nowNanos) {
    topology = topology.with(otherParts);
    leaseClass = otherClass;
    time.change(topology.own(), leaseClass, nowNanos);
  }

  /** Whether somebody holds it, through this server. */
  public boolean isHeldHere() {
    return !holds.isEmpty();
  }

  /** Whether its GPUs are other servers', and this one only has its holder. */
  public boolean isElsewhere() {
    return topology.isElsewhere();
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

  void remove(LeasedSession session) {
    sessions.remove(session.slot(), session);
    ledger.clearSlot(session.slot());
    time.leaveSession(session.slot());
  }
}
