// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.lease.cluster;

import io.gpupool.runtime.Timers;
import io.gpupool.server.capacity.Membership;
import io.gpupool.server.control.CoalescedTask;
import io.gpupool.server.lease.lifecycle.Lease;
import io.gpupool.server.lease.lifecycle.LeaseService;
import io.gpupool.server.lease.queue.LeaseQueue;
import io.gpupool.server.lease.store.LeaseStore;
import io.gpupool.server.records.GrantRecord;
import io.gpupool.server.records.RecordTypes;
import io.gpupool.server.records.ServerEntry;
import io.gpupool.server.state.RecordStore;
import io.gpupool.server.state.StateException;
import java.util.Optional;
import java.util.concurrent.Executor;
import java.util.concurrent.TimeUnit;
import java.util.function.Supplier;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A reconciler of this server with the records of the cluster: compares its leases, queue and
 * membership with them and acts on every difference, a moment after each change and once a second.
 * The records decide, not what changed in them, so nothing is missed. Runs on the control thread.
 */
public final class Reconciler {
  private static final long SOON_MILLIS = 10;
  private static final long EACH_MILLIS = 1000;

  /** However much there is to look at, most of the time is left for other things. */
  private static final long REST_FACTOR = 3;

  private static final Logger LOG = LoggerFactory.getLogger(Reconciler.class);

  private final RecordStore records;
  private final LeaseStore store;
  private final Membership members;
  private final LeaseService leases;
  private final LeaseQueue queue;
  private final Timers timers;
  private final Supplier<ServerEntry> self;
  private final PeerServerMonitor peers;
  private final DeadServerReaper reaper;
  private long pauseMillis;

  public Reconciler(
      RecordStore records,
      LeaseStore store,
      Membership members,
      LeaseService leases,
      LeaseQueue queue,
      PeerServerMonitor peers,
      Timers timers,
      Supplier<ServerEntry> self) {
    this.records = records;
    this.store = store;
    this.members = members;
    this.leases = leases;
    this.queue = queue;
    this.peers = peers;
    this.timers = timers;
    this.self = self;
    reaper = new DeadServerReaper(store, members, timers);
  }

  /** Reconciles from now on; the server's ports are open. */
  public void start(Executor control) {
    Runnable plan =
        new CoalescedTask(
            control, timers, () -> Math.max(SOON_MILLIS, pauseMillis), this::reconcileInTime);
    // Nothing follows from what is for people to see.
    RecordTypes.ALL.stream()
        .filter(kind -> kind != RecordTypes.SERVER_STATUSES)
        .forEach(kind -> records.whenChanged(kind, plan));
    control.execute(this::eachSecond);
  }

  private void eachSecond() {
    timers.after(EACH_MILLIS, this::eachSecond);
    reconcileInTime();
  }

  private void reconcileInTime() {
    long beganNanos = timers.nowNanos();
    reconcile();
    pauseMillis = REST_FACTOR * TimeUnit.NANOSECONDS.toMillis(timers.nowNanos() - beganNanos);
  }

  private void reconcile() {
    records.trouble().ifPresent(queue::redirect);
    members.refresh();
    reconcileLeases();
    if (!members.isRegistered() && areLeasesRecorded()) {
      try {
        members.register(self.get());
      } catch (StateException e) {
        LOG.debug("not in the pool yet: {}", e.getMessage());
      }
    }
    if (members.isFirst()) {
      reaper.reap();
    }
    queue.reconcile();
  }

  private void reconcileLeases() {
    for (Lease lease : leases.all()) {
      if (lease.state().isAlive()) {
        reconcile(lease);
      }
    }
    store.forEach((id, record) -> {
      if (record.isOn(store.server()) || store.isHolderHere(id, "")) {
        leases.adopt(id);
      }
    });
  }

  private void reconcile(Lease lease) {
    Optional<GrantRecord> record = store.get(lease.id());
    if (record.isEmpty() || record.get().isEnding()) {
      leases.endRecorded(
          lease,
          record
              .map(GrantRecord::ending)
              .filter(reason -> !reason.isEmpty())
              .orElse("it was ended at another server"));
      return;
    }
    leases.checkPlace(lease, record.get());
    if (!lease.state().isAlive()) {
      return;
    }
    leases.apply(lease, record.get());
    Optional<String> over = peers.expiryReason(lease);
    if (over.isPresent() && !lease.isRemote()) {
      leases.end(lease, over.get());
    } else if (lease.token().isPresent() && !store.hasToken(lease.token().get())) {
      leases.end(lease, "its token was revoked");
    } else {
      leases.checkHolder(lease);
    }
  }

  /**
   * Whether the pool knows all leases with workers here, so that their GPUs are not granted again.
   */
  private boolean areLeasesRecorded() {
    return leases.all().stream()
        .allMatch(lease ->
            lease.isRemote()
                || store.get(lease.id()).filter(r -> r.isOn(store.server())).isPresent());
  }
}
