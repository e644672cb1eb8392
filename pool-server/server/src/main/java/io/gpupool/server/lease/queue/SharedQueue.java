// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.lease.queue;

import io.gpupool.runtime.Timers;
import io.gpupool.server.identity.LeaseSecret;
import io.gpupool.server.identity.TokenHash;
import io.gpupool.server.lease.lifecycle.LeaseGrant;
import io.gpupool.server.lease.store.QueueStore;
import io.gpupool.server.placement.Placement.Part;
import io.gpupool.server.records.IdAllocator;
import io.gpupool.server.records.QueueRecord;
import io.gpupool.server.rejection.RejectionReason;
import io.gpupool.server.state.StateException;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The queue of a cluster, as far as other servers see it or have it: requests that their clients
 * can make again wait at all servers. Owned by the control thread.
 */
final class SharedQueue {
  private static final long NANOS_PER_MILLI = 1_000_000;
  private static final long MISSING_NANOS = TimeUnit.MINUTES.toNanos(1);
  private static final Logger LOG = LoggerFactory.getLogger(SharedQueue.class);

  private final QueueStore store;
  private final IdAllocator numbers;
  private final Timers timers;
  private final long sinceNanos;
  private final Map<Long, QueuePosition> positions = new HashMap<>();

  SharedQueue(QueueStore store, Timers timers) {
    this.store = store;
    this.timers = timers;
    numbers = store.numbers();
    sinceNanos = timers.nowNanos();
  }

  long nextNumber() throws StateException {
    return numbers.next();
  }

  /** Whether this server has just started, and may not know all servers that were there before. */
  boolean mayMissServers() {
    return timers.nowNanos() - sinceNanos < MISSING_NANOS;
  }

  /** Records that a request waits here. */
  void record(QueueEntry entry, RequestIdentity identity) throws StateException {
    store.add(
        identity.key(),
        new QueueRecord(
            entry.request().number(),
            "",
            timers.wallMillis(),
            identity.withoutSecret(),
            entry.spec()));
    entry.setRecorded();
  }

  /** Takes over a request that waits at this server or another; empty if there is none. */
  Optional<QueuedRequest> takeOver(RequestIdentity identity) throws StateException {
    return store.attach(identity.key()).map(this::request);
  }

  /** Forgets a request that waits here no more. */
  void remove(QueueEntry entry) {
    entry
        .identity()
        .ifPresent(identity -> {
          try {
            store.remove(identity.key());
          } catch (StateException e) {
            LOG.debug("request {} is forgotten later: {}", entry.id(), e.getMessage());
          }
        });
  }

  /**
   * Returns the grant of a request that waits at another server; empty if it does not wait there.
   */
  Optional<LeaseGrant> grant(QueuedRequest request, List<Part> parts) {
    return store
        .find(request.number())
        .map(found ->
            new LeaseGrant(
                request.spec(),
                parts,
                LeaseSecret.Hash.of(new TokenHash(found.getKey())),
                found.getKey(),
                found.getValue().server(),
                null));
  }

  /** Takes out a request wherever it waits, now or later. */
  void forget(QueuedRequest request) {
    try {
      store.cancel(request.number());
    } catch (StateException e) {
      LOG.debug("request {} is forgotten later: {}", request.id(), e.getMessage());
    }
  }

  /** Takes out a request that waits at another server, which tells its client. */
  void cancel(QueuedRequest request) throws StateException {
    store.cancel(request.number());
  }

  boolean isRecordedHere(RequestIdentity identity) {
    return store.isHere(identity.key());
  }

  boolean isRecorded(RequestIdentity identity) {
    return store.find(identity.key()).isPresent();
  }

  /** Forgets requests whose clients have not come back. */
  void forgetAbsent(Set<String> keysWithClients) {
    store.forgetAbsent(keysWithClients::contains);
  }

  /** The requests that wait at other servers. */
  List<QueuedRequest> requestsElsewhere() {
    return store.elsewhere().stream().map(this::request).toList();
  }

  /** The positions of requests that wait at other servers. */
  List<QueuePosition> positionsElsewhere() {
    return requestsElsewhere().stream()
        .map(request -> positions.getOrDefault(request.number(), hasJustCome(request)))
        .toList();
  }

  void clearPositions() {
    positions.clear();
  }

  void put(QueuePosition position) {
    positions.put(position.request().number(), position);
  }

  private static QueuePosition hasJustCome(QueuedRequest request) {
    return new QueuePosition(request, 1, false, RejectionReason.NotScheduledYet::new);
  }

  private QueuedRequest request(QueueRecord record) {
    long ageNanos = (timers.wallMillis() - record.sinceMillis()) * NANOS_PER_MILLI;
    return new QueuedRequest(record.number(), record.spec(), timers.nowNanos() - ageNanos);
  }
}
