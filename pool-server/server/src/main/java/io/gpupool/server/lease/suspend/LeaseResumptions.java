// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.lease.suspend;

import io.gpupool.runtime.BackOff;
import io.gpupool.runtime.Timers;
import io.gpupool.server.capacity.Capacity;
import io.gpupool.server.gpu.Gpu;
import io.gpupool.server.identity.Principal;
import io.gpupool.server.lease.lifecycle.Lease;
import io.gpupool.server.lease.lifecycle.LeaseService;
import io.gpupool.server.lease.queue.LeaseQueue;
import io.gpupool.server.lease.queue.QueueEntry;
import io.gpupool.server.lease.queue.QueueListener;
import io.gpupool.server.lease.store.SuspensionStore;
import io.gpupool.server.placement.GpuRequirements;
import io.gpupool.server.placement.LeaseId;
import io.gpupool.server.placement.Placement.Part;
import io.gpupool.server.records.GrantRecord;
import io.gpupool.server.records.GrantRecord.PartRecord;
import io.gpupool.server.records.LeaseSpec;
import io.gpupool.server.records.SuspensionRecord;
import io.gpupool.server.rejection.LeaseRefusal;
import io.gpupool.server.rejection.RefusedException;
import io.gpupool.server.rejection.RejectionReason;
import io.gpupool.server.select.Selector;
import io.gpupool.server.state.StateException;
import java.io.IOException;
import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The suspended leases of this server that are to go on: each waits in the queue for a share of a
 * GPU like the one it had. Owned by the control thread.
 */
public final class LeaseResumptions {
  private static final Duration FIRST_PAUSE = Duration.ofSeconds(1);
  private static final Duration LONGEST_PAUSE = Duration.ofSeconds(60);
  private static final long WAIT_MILLIS = Long.MAX_VALUE;
  private static final Logger LOG = LoggerFactory.getLogger(LeaseResumptions.class);

  private final LeaseService leases;
  private final LeaseQueue queue;
  private final Capacity capacity;
  private final Timers timers;
  private final SuspensionStore store;
  private final Map<LeaseId, Waiting> waiting = new HashMap<>();

  /** Makes no requests yet. */
  public LeaseResumptions(LeaseService leases, LeaseQueue queue, Capacity capacity, Timers timers) {
    this.leases = leases;
    this.queue = queue;
    this.capacity = capacity;
    this.timers = timers;
    store = leases.store().suspensions();
  }

  /** One lease that is to go on. */
  private static final class Waiting {
    private final String suspension;
    private final BackOff pauses = BackOff.exact(FIRST_PAUSE, LONGEST_PAUSE);
    private @Nullable QueueEntry entry;

    /** Whether it has its share, or was refused and is asked for again later. */
    private boolean isPaused;

    Waiting(String suspension) {
      this.suspension = suspension;
    }
  }

  /**
   * Asks for the share of a lease, unless that is done already.
   *
   * @param then takes the lease that has a share again
   */
  public void ask(LeaseId id, SuspensionRecord suspension, Consumer<Lease> then) {
    Waiting known = waiting.computeIfAbsent(id, _ -> new Waiting(suspension.id()));
    if (known.entry != null || known.isPaused) {
      return;
    }
    Optional<GrantRecord> grant = leases.store().get(id).filter(found -> !found.isEnding());
    Optional<Gpu> gpu = capacity.gpu(suspension.part().gpu());
    if (grant.isEmpty() || gpu.isEmpty()) {
      return;
    }
    try {
      known.entry =
          queue.resume(
              spec(grant.get(), suspension.part(), gpu.get()),
              new Listener(id, known),
              (entry, parts) -> take(id, known, parts.getFirst(), then));
      if (known.isPaused) {
        known.entry = null;
      }
    } catch (StateException e) {
      LOG.debug("lease {} is not in the queue yet: {}", id, e.getMessage());
    }
  }

  /** A share of the same size, of such a GPU of this server. */
  private static LeaseSpec spec(GrantRecord grant, PartRecord part, Gpu gpu) {
    GpuRequirements requirements =
        new GpuRequirements(
            1,
            new GpuRequirements.Size.Memory(part.share().memoryBytes()),
            part.share().computeBasisPoints(),
            List.of(
                Selector.in("cc", gpu.computeCapability()),
                Selector.in("model", gpu.name()),
                Selector.in("server", gpu.server())),
            part.partition(),
            part.hard(),
            false,
            false);
    return new LeaseSpec(
        requirements,
        grant.precedence().priority(),
        WAIT_MILLIS,
        grant.owner(),
        Principal.POOL,
        grant.limits(),
        grant.leaseClass());
  }

  private void take(LeaseId id, Waiting known, Part part, Consumer<Lease> then)
      throws RefusedException, StateException, IOException {
    Lease before =
        leases
            .get(id)
            .filter(lease -> lease.state().isAlive())
            .orElseThrow(() ->
                new RefusedException(RefusedException.Why.NOT_FOUND, "lease " + id + " has ended"));
    boolean isSameGpu = before.parts().getFirst().gpu().equals(part.gpu());
    @Nullable Lease expected = isSameGpu ? null : leases.expect(id, on(part, id));
    GrantRecord written;
    try {
      written = store.take(id, known.suspension, part);
    } catch (StateException | RefusedException e) {
      if (expected != null) {
        leases.unexpect(expected);
      }
      throw e;
    }
    known.entry = null;
    known.isPaused = true;
    LOG.info("lease {} goes on with {}", id, Part.describe(List.of(part)));
    if (isSameGpu) {
      leases.apply(before, written);
    } else {
      leases.checkPlace(id);
      leases.adopt(id);
    }
    then.accept(leases.get(id).orElseThrow());
  }

  private GrantRecord on(Part part, LeaseId id) throws RefusedException {
    GrantRecord grant =
        leases
            .store()
            .get(id)
            .orElseThrow(() ->
                new RefusedException(RefusedException.Why.NOT_FOUND, "lease " + id + " has ended"));
    return grant.with(List.of(PartRecord.of(part)), grant.leaseClass());
  }

  /** Notes that the sessions of a lease could not be restored; it is asked for again later. */
  public void failed(LeaseId id, String reason) {
    Waiting known = waiting.get(id);
    if (known != null) {
      pause(id, known, reason);
    }
  }

  private void pause(LeaseId id, Waiting known, String reason) {
    known.entry = null;
    known.isPaused = true;
    note(id, known, reason);
    timers.after(known.pauses.next().toMillis(), () -> known.isPaused = false);
  }

  private void note(LeaseId id, Waiting known, String reason) {
    try {
      store.note(id, known.suspension, reason);
    } catch (StateException e) {
      LOG.debug("lease {} waits: {} ({})", id, reason, e.getMessage());
    }
  }

  /** Has the queue look whether a request fits now. */
  public void announceRoom() {
    queue.dispatch();
  }

  /** Takes back what is asked for leases that are suspended no more. */
  public void keep(Map<LeaseId, SuspensionRecord> suspensions) {
    for (Map.Entry<LeaseId, Waiting> one : Map.copyOf(waiting).entrySet()) {
      SuspensionRecord record = suspensions.get(one.getKey());
      if (record == null || !record.id().equals(one.getValue().suspension)) {
        waiting.remove(one.getKey());
        if (one.getValue().entry != null) {
          queue.withdraw(one.getValue().entry);
        }
      }
    }
  }

  /** A listener to the request for one lease. */
  private final class Listener implements QueueListener {
    private final LeaseId id;
    private final Waiting known;

    Listener(LeaseId id, Waiting known) {
      this.id = id;
      this.known = known;
    }

    @Override
    public void queued(int place, RejectionReason reason) {
      note(id, known, "it waits for room: " + reason.text());
    }

    @Override
    public void refused(LeaseRefusal refusal) {
      pause(id, known, refusal.text());
    }
  }
}
