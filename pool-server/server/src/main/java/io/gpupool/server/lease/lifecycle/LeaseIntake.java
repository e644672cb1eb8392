// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.lease.lifecycle;

import io.gpupool.server.capacity.Capacity;
import io.gpupool.server.capacity.Members;
import io.gpupool.server.lease.store.LeaseStore;
import io.gpupool.server.lease.usage.FormerLease;
import io.gpupool.server.lease.usage.FormerUsage;
import io.gpupool.server.placement.LeaseId;
import io.gpupool.server.placement.Placement.Part;
import io.gpupool.server.records.GrantRecord;
import io.gpupool.server.state.StateException;
import java.io.IOException;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The intake of leases that are recorded already: those from before a restart of this server, and
 * those that other servers have granted. Owned by the control thread.
 */
final class LeaseIntake {
  private static final Logger LOG = LoggerFactory.getLogger(LeaseIntake.class);

  private final LeaseStore store;
  private final LeaseFactory factory;
  private final Capacity capacity;
  private final Members members;
  private final Taker taker;

  /** Leases that move to GPUs of this server, apart from those that it has. */
  private final Map<LeaseId, Lease> expected = new HashMap<>();

  /** The receiver of leases that are taken in. */
  interface Taker {
    void takeIn(Lease lease, LeaseEvent event);
  }

  LeaseIntake(LeaseStore store, LeaseFactory factory, Capacity capacity, Taker taker) {
    this.store = store;
    this.factory = factory;
    this.capacity = capacity;
    this.taker = taker;
    members = capacity.members();
  }

  /**
   * Takes in what was granted before a restart, and frees what cannot go on.
   *
   * @param former what the leases used before it
   */
  void restore(FormerUsage former) throws IOException {
    for (Map.Entry<LeaseId, GrantRecord> granted : store.onThisServer().entrySet()) {
      LeaseId id = granted.getKey();
      GrantRecord record = granted.getValue();
      Optional<List<Part>> parts = store.parts(record, capacity);
      Optional<String> over = expiryReason(id, record, parts.orElse(null), former);
      if (over.isPresent()) {
        store.free(id, members::isThis, over.get());
        LOG.info("lease {} is gone: {}", id, over.get());
      } else {
        FormerLease lease = former.lease(id).orElse(null);
        taker.takeIn(factory.make(id, record, parts.get(), lease), LeaseEvent.RESTORED);
      }
    }
  }

  private Optional<String> expiryReason(
      LeaseId id, GrantRecord record, @Nullable List<Part> parts, FormerUsage former) {
    if (record.isEnding()) {
      return Optional.of("it had ended");
    }
    boolean goesOn = record.limits().resumeWindowMillis() > 0 && former.isWhole(id);
    if (!goesOn && !record.parts().stream().allMatch(part -> members.isThis(part.gpu().server()))) {
      // What its programs have at the other servers is worth nothing without what they had here.
      return Optional.of(
          "server " + store.server() + ", which has some of its GPUs, was started anew");
    }
    return parts == null ? Optional.of("its GPUs are not there any more") : Optional.empty();
  }

  /**
   * Takes in a lease that this server does not have, if it is on this server's GPUs or held here.
   * Frees what this server has of one that has ended.
   */
  void adopt(LeaseId id) {
    Optional<GrantRecord> record = record(id);
    if (record.isEmpty()) {
      return;
    }
    try {
      if (record.get().isEnding()) {
        store.free(id, members::isThis, "");
      } else if (record.get().isOn(store.server()) || store.isHolderHere(id, "")) {
        takeExpected(id, record.get())
            .or(() -> makeGranted(id, record.get()))
            .ifPresent(lease -> taker.takeIn(lease, LeaseEvent.ADOPTED));
      }
    } catch (StateException e) {
      LOG.error("lease {} cannot be freed yet: {}", id, e.getMessage());
    }
  }

  /**
   * Prepares for a lease that moves to a GPU of this server: it is taken in as soon as the records
   * say that it has that GPU.
   *
   * @throws IOException if it cannot be, for want of files
   */
  Lease expect(LeaseId id, GrantRecord record) throws IOException {
    List<Part> parts =
        store.parts(record, capacity).orElseThrow(() -> new IOException("its GPU is not there"));
    Lease lease = factory.make(id, record, parts);
    Lease before = expected.put(id, lease);
    if (before != null) {
      before.closeUsage();
    }
    return lease;
  }

  /** Gives up on a lease that does not come, and none of whose workers is left. */
  void unexpect(Lease lease) {
    if (expected.remove(lease.id(), lease)) {
      lease.closeUsage();
    }
  }

  private Optional<Lease> takeExpected(LeaseId id, GrantRecord record) {
    Lease lease = expected.get(id);
    if (lease == null || !lease.isPlacedAs(record)) {
      return Optional.empty();
    }
    expected.remove(id);
    LOG.info("lease {} of {} has moved here", id, lease.holder());
    return Optional.of(lease);
  }

  /** A lease on other servers' GPUs, as this one sees it without taking it in. */
  Optional<Lease> remote(LeaseId id) {
    return record(id)
        .filter(record -> !record.isEnding() && !record.isOn(store.server()))
        .flatMap(record -> make(id, record));
  }

  private Optional<Lease> makeGranted(LeaseId id, GrantRecord record) {
    Optional<Lease> made = make(id, record);
    made.ifPresent(
        lease -> LOG.info("lease {} of {} was granted by another server", id, lease.holder()));
    return made;
  }

  private Optional<GrantRecord> record(LeaseId id) {
    return store.get(id).filter(record -> !record.parts().isEmpty());
  }

  private Optional<Lease> make(LeaseId id, GrantRecord record) {
    Optional<List<Part>> parts = store.parts(record, capacity);
    if (parts.isEmpty()) {
      return Optional.empty();
    }
    try {
      return Optional.of(factory.make(id, record, parts.get()));
    } catch (IOException e) {
      LOG.error("lease {} cannot be taken in yet: {}", id, e.getMessage());
      return Optional.empty();
    }
  }
}
