// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.lease;

import io.gpupool.runtime.Timers;
import io.gpupool.server.capacity.Members;
import io.gpupool.server.lease.QueueScheduler.Pending;
import io.gpupool.server.records.IdAllocator;
import io.gpupool.server.records.RecordTypes;
import io.gpupool.server.records.WaitingRequest;
import io.gpupool.server.refusal.RefusedException;
import io.gpupool.server.state.RecordStore;
import io.gpupool.server.state.StateException;
import io.gpupool.server.state.Versioned;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.Predicate;

/**
 * The requests that wait at all servers of a pool of several. Each is under the hash of an id that
 * only its client knows, and names the server to which that is connected, which alone may grant it;
 * a client that loses its server goes to another, which writes its own name there. Owned by the
 * control thread.
 */
public final class Waitlist {
  /** How long a client has to come back. */
  static final long ABSENT_MILLIS = 5000;

  private static final long NANOS_PER_MILLI = 1_000_000;

  private final RecordStore records;
  private final Members members;
  private final String server;
  private final Timers timers;
  private Map<String, Long> absentSinceNanos = Map.of();

  public Waitlist(RecordStore records, Members members, String server, Timers timers) {
    this.records = records;
    this.members = members;
    this.server = server;
    this.timers = timers;
  }

  Optional<WaitingRequest> find(String key) {
    return records.get(RecordTypes.QUEUE, key).map(Versioned::value);
  }

  /** Whether a request waits at this server. */
  boolean isHere(String key) {
    return find(key).filter(waiting -> waiting.server().equals(server)).isPresent();
  }

  /**
   * Writes down that a request waits here. One of the same id that waits already keeps its place.
   *
   * @return the one that waits
   */
  WaitingRequest add(String key, WaitingRequest waiting) throws StateException {
    return records.transact(transaction -> {
      WaitingRequest now = transaction.get(RecordTypes.QUEUE, key).orElse(waiting).at(server);
      transaction.put(RecordTypes.QUEUE, key, now);
      return now;
    });
  }

  /** Takes over a request that waits; empty if there is none. */
  Optional<WaitingRequest> attach(String key) throws StateException {
    return records.transact(transaction -> {
      Optional<WaitingRequest> waiting =
          transaction.get(RecordTypes.QUEUE, key).map(w -> w.at(server));
      waiting.ifPresent(w -> transaction.put(RecordTypes.QUEUE, key, w));
      return waiting;
    });
  }

  /** Forgets a request, unless it waits at another server now. */
  void remove(String key) throws StateException {
    records.transact(transaction -> {
      if (transaction
          .get(RecordTypes.QUEUE, key)
          .filter(w -> w.server().equals(server))
          .isPresent()) {
        transaction.delete(RecordTypes.QUEUE, key);
      }
      return null;
    });
  }

  /** Forgets a request wherever it waits; the server there sees it. */
  void cancel(WaitingRequest request) throws StateException {
    for (Map.Entry<String, Versioned<WaitingRequest>> e :
        records.all(RecordTypes.QUEUE).entrySet()) {
      if (e.getValue().value().number() == request.number()) {
        records.transact(transaction -> {
          if (transaction.get(RecordTypes.QUEUE, e.getKey()).isPresent()) {
            transaction.delete(RecordTypes.QUEUE, e.getKey());
          }
          return null;
        });
      }
    }
  }

  /** Has a request's end be part of its grant, which comes to nothing if it waits here no more. */
  Grants.Beside taking(String key) {
    return transaction -> {
      if (transaction
          .get(RecordTypes.QUEUE, key)
          .filter(w -> w.server().equals(server))
          .isEmpty()) {
        throw new RefusedException(
            RefusedException.Why.CHANGED, "its client waits at another server now");
      }
      transaction.delete(RecordTypes.QUEUE, key);
    };
  }

  /** Those that wait at other servers. */
  List<Pending> others() {
    return requestsElsewhere().stream().map(this::waiting).toList();
  }

  List<WaitingRequest> requestsElsewhere() {
    return records.all(RecordTypes.QUEUE).values().stream()
        .map(Versioned::value)
        .filter(waiting -> !waiting.server().equals(server))
        .toList();
  }

  Pending waiting(WaitingRequest record) {
    long ageNanos = (timers.wallMillis() - record.sinceMillis()) * NANOS_PER_MILLI;
    return new Pending(
        record.number(),
        record.request().ask(),
        record.request().tenant(),
        record.request().priority(),
        timers.nowNanos() - ageNanos);
  }

  /** Forgets requests whose clients have not come back; those of dead servers by one for all. */
  void forgetAbsent(Predicate<String> hasClient) {
    Map<String, Long> since = new HashMap<>();
    records
        .all(RecordTypes.QUEUE)
        .forEach((key, record) -> {
          String at = record.value().server();
          boolean absent =
              at.equals(server) ? !hasClient.test(key) : members.isFirst() && !members.lives(at);
          if (!absent) {
            return;
          }
          long absentAt = absentSinceNanos.getOrDefault(key, timers.nowNanos());
          since.put(key, absentAt);
          if (timers.nowNanos() - absentAt >= ABSENT_MILLIS * NANOS_PER_MILLI) {
            forget(key, at);
          }
        });
    absentSinceNanos = since;
  }

  private void forget(String key, String at) {
    try {
      records.transact(transaction -> {
        if (transaction
            .get(RecordTypes.QUEUE, key)
            .filter(w -> w.server().equals(at))
            .isPresent()) {
          transaction.delete(RecordTypes.QUEUE, key);
        }
        return null;
      });
    } catch (StateException e) {
      // The next look tries again.
    }
  }

  IdAllocator numbers() {
    return new IdAllocator(records, "request");
  }
}
