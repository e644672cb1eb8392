// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.lease.lifecycle;

import io.gpupool.runtime.Timers;
import io.gpupool.server.capacity.Members;
import io.gpupool.server.gpu.GpuKey;
import io.gpupool.server.identity.Principal;
import io.gpupool.server.lease.model.LeaseHold;
import io.gpupool.server.lease.model.LeaseState;
import io.gpupool.server.lease.model.LeasedSession;
import io.gpupool.server.lease.store.LeaseStore;
import io.gpupool.server.metrics.Metric;
import io.gpupool.server.metrics.ServerMetrics;
import io.gpupool.server.placement.Placement.Part;
import io.gpupool.server.state.StateException;
import java.util.function.Consumer;
import java.util.function.Predicate;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The effects of the transitions of leases: records, timers, messages to holders and sessions. What
 * comes of one is an event for the same lease. Owned by the control thread.
 */
final class LeaseEffects {
  private static final long RETRY_MILLIS = 1000;
  private static final Logger LOG = LoggerFactory.getLogger(LeaseEffects.class);

  private final LeaseStore store;
  private final Members members;
  private final Timers timers;
  private final ServerMetrics metrics;
  private final Events events;
  private final Consumer<Lease> forget;
  private final Consumer<Lease> unlist;
  private final Runnable announceRoom;

  /** The receiver of the events that effects cause. */
  interface Events {
    void on(Lease lease, LeaseEvent event);
  }

  LeaseEffects(
      LeaseStore store,
      Members members,
      Timers timers,
      ServerMetrics metrics,
      Events events,
      Consumer<Lease> forget,
      Consumer<Lease> unlist,
      Runnable announceRoom) {
    this.store = store;
    this.members = members;
    this.timers = timers;
    this.metrics = metrics;
    this.events = events;
    this.forget = forget;
    this.unlist = unlist;
    this.announceRoom = announceRoom;
  }

  /**
   * Runs an effect of a transition that the lease has just made.
   *
   * @param before the state that it was in
   */
  void run(LeaseEffect effect, Lease lease, LeaseState before) {
    switch (effect) {
      case RECORD_HOLDER -> recordHolder(lease);
      case TELL_HOME -> tellHome(lease);
      case RETRY_TELL -> planRetry(lease, LeaseEvent.TELL_DUE);
      case START_GRACE -> startGrace(lease);
      case RECORD_END -> recordEnd(lease, before);
      case NOTIFY_HOLDERS -> notifyHolders(lease);
      case REDIRECT_HOLDERS -> lease.removeHolds().forEach(LeaseHold::redirected);
      case UNLIST -> unlist.accept(lease);
      case END_SESSIONS -> endSessions(lease);
      case FREE -> free(lease);
      case FREE_FORMER -> freeFormer(lease);
      case RETRY_FREE -> planRetry(lease, LeaseEvent.FREE_DUE);
      case FORGET -> forget.accept(lease);
      case ANNOUNCE_ROOM -> announceRoom.run();
    }
  }

  /** Counts a lease that ends for a reason of the pool's, or as somebody asked. */
  void countEnd(Lease lease, Principal principal, LeaseState before) {
    metrics.add(Metric.LEASES_ENDED, 1, lease.tenant(), cause(principal, before));
  }

  /** The servers on which nothing of a lease is alive: this one, if no session of it is left. */
  Predicate<String> serversWithoutSessions(Lease lease) {
    return lease.sessions().isEmpty() ? members::isThis : server -> false;
  }

  private void recordHolder(Lease lease) {
    if (members.isAlone()) {
      return;
    }
    try {
      store.recordHolder(lease.id(), lease.topology());
    } catch (StateException e) {
      LOG.warn("lease {} cannot be held here yet: {}", lease.id(), e.getMessage());
      planRetry(lease, LeaseEvent.RECORD_DUE);
    }
  }

  private void tellHome(Lease lease) {
    LeaseEvent outcome = LeaseEvent.HOME_TOLD;
    try {
      store.returnHolder(lease.id(), lease.topology().home());
    } catch (StateException e) {
      LOG.debug("lease {} cannot be left to another server yet: {}", lease.id(), e.getMessage());
      outcome = LeaseEvent.HOME_NOT_TOLD;
    }
    events.on(lease, outcome);
  }

  private void startGrace(Lease lease) {
    if (lease.state() instanceof LeaseState.Grace grace) {
      long millis = grace.reason().millis(lease.clock().limits());
      lease.plan(timers.after(millis, () -> events.on(lease, LeaseEvent.GRACE_OVER)));
    }
  }

  private void planRetry(Lease lease, LeaseEvent event) {
    lease.plan(timers.after(RETRY_MILLIS, () -> events.on(lease, event)));
  }

  private void recordEnd(Lease lease, LeaseState before) {
    try {
      boolean isFirst =
          store.end(lease.id(), serversWithoutSessions(lease), Principal.POOL, reasonOfEnd(lease));
      if (isFirst) {
        countEnd(lease, Principal.POOL, before);
      }
    } catch (StateException e) {
      LOG.error("lease {} ends, which cannot be written down yet: {}", lease.id(), e.getMessage());
      countEnd(lease, Principal.POOL, before);
    }
  }

  private static void notifyHolders(Lease lease) {
    String reason = reasonOfEnd(lease);
    lease.removeHolds().forEach(hold -> hold.ended(reason));
  }

  private void endSessions(Lease lease) {
    String reason =
        lease.state() instanceof LeaseState.Moved
            ? "its lease has moved to another GPU"
            : "its lease has ended: " + reasonOfEnd(lease);
    for (LeasedSession session : lease.sessions()) {
      session.end(reason);
    }
    if (lease.sessions().isEmpty()) {
      events.on(lease, LeaseEvent.SESSIONS_GONE);
    }
  }

  private void free(Lease lease) {
    LeaseEvent outcome = LeaseEvent.FREED;
    try {
      store.free(lease.id(), members::isThis, reasonOfEnd(lease));
    } catch (StateException e) {
      LOG.error("lease {} cannot be forgotten yet: {}", lease.id(), e.getMessage());
      outcome = LeaseEvent.NOT_FREED;
    }
    events.on(lease, outcome);
  }

  private void freeFormer(Lease lease) {
    LeaseEvent outcome = LeaseEvent.FREED;
    try {
      for (Part part : lease.topology().own()) {
        store.moves().clear(lease.id(), GpuKey.of(part.gpu()));
      }
    } catch (StateException e) {
      LOG.error("the former GPU of lease {} cannot be freed yet: {}", lease.id(), e.getMessage());
      outcome = LeaseEvent.NOT_FREED;
    }
    events.on(lease, outcome);
  }

  private static String reasonOfEnd(Lease lease) {
    return lease.state() instanceof LeaseState.Ending(String reason) ? reason : "";
  }

  private static String cause(Principal principal, LeaseState before) {
    if (!principal.equals(Principal.POOL)) {
      return "released";
    }
    return before instanceof LeaseState.Grace || before instanceof LeaseState.Returning
        ? "holder_gone"
        : "pool";
  }
}
