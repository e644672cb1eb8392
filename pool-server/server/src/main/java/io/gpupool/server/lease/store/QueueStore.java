// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.lease.store;

import io.gpupool.runtime.Timers;
import io.gpupool.server.capacity.Members;
import io.gpupool.server.records.IdAllocator;
import io.gpupool.server.records.QueueRecord;
import io.gpupool.server.records.RecordTypes;
import io.gpupool.server.state.RecordStore;
import io.gpupool.server.state.StateException;
import io.gpupool.server.state.Versioned;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.Predicate;

/**
 * The records of the requests that wait at the servers of a cluster. Each is under the hash of an
 * id that only its client knows, and names the server to which the client is connected, which alone
 * may grant it; a client that loses its server goes to another, which writes its own name there.
 * Owned by the control thread.
 */
public final class QueueStore {
  /** How long a client has to come back. */
  public static final long ABSENT_MILLIS = 5000;

  private static final long NANOS_PER_MILLI = 1_000_000;

  private final RecordStore records;
  private final Members members;
  private final String server;
  private final Timers timers;
  private Map<String, Long> absentSinceNanos = Map.of();

  public QueueStore(RecordStore records, Members members, String server, Timers timers) {
    this.records = records;
    this.members = members;
    this.server = server;
    this.timers = timers;
  }

  public Optional<QueueRecord> find(String key) {
    return records.get(RecordTypes.QUEUE, key).map(Versioned::value);
  }

  /** The key of a request that waits, and its record. */
  public Optional<Map.Entry<String, QueueRecord>> find(long number) {
    return records.all(RecordTypes.QUEUE).entrySet().stream()
        .filter(e -> e.getValue().value().number() == number)
        .findFirst()
        .map(e -> Map.entry(e.getKey(), e.getValue().value()));
  }

  /** Whether a request waits at this server. */
  public boolean isHere(String key) {
    return find(key).filter(waiting -> waiting.server().equals(server)).isPresent();
  }

  /** Records that a request waits here. One of the same id that waits already keeps its place. */
  public void add(String key, QueueRecord waiting) throws StateException {
    records.update(transaction -> {
      QueueRecord now = transaction.get(RecordTypes.QUEUE, key).orElse(waiting).at(server);
      transaction.put(RecordTypes.QUEUE, key, now);
    });
  }

  /** Takes over a request that waits; empty if there is none. */
  public Optional<QueueRecord> attach(String key) throws StateException {
    return records.transact(transaction -> {
      Optional<QueueRecord> waiting =
          transaction.get(RecordTypes.QUEUE, key).map(w -> w.at(server));
      waiting.ifPresent(w -> transaction.put(RecordTypes.QUEUE, key, w));
      return waiting;
    });
  }

  /** Forgets a request, unless it waits at another server now. */
  public void remove(String key) throws StateException {
    records.update(transaction -> {
      if (transaction
          .get(RecordTypes.QUEUE, key)
          .filter(w -> w.server().equals(server))
          .isPresent()) {
        transaction.delete(RecordTypes.QUEUE, key);
      }
    });
  }

  /** Forgets a request wherever it waits; the server there sees it. */
  public void cancel(long number) throws StateException {
    Optional<String> key = find(number).map(Map.Entry::getKey);
    if (key.isPresent()) {
      records.update(transaction -> {
        if (transaction.get(RecordTypes.QUEUE, key.get()).isPresent()) {
          transaction.delete(RecordTypes.QUEUE, key.get());
        }
      });
    }
  }

  /** The requests that wait at other servers. */
  public List<QueueRecord> elsewhere() {
    return records.all(RecordTypes.QUEUE).values().stream()
        .map(Versioned::value)
        .filter(waiting -> !waiting.server().equals(server))
        .toList();
  }

  /**
   * Forgets requests whose clients have not come back. One server does so for those of dead
   * servers.
   */
  public void forgetAbsent(Predicate<String> hasClient) {
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
      records.update(transaction -> {
        if (transaction
            .get(RecordTypes.QUEUE, key)
            .filter(w -> w.server().equals(at))
            .isPresent()) {
          transaction.delete(RecordTypes.QUEUE, key);
        }
      });
    } catch (StateException e) {
      // The next look tries again.
    }
  }

  public IdAllocator numbers() {
    return new IdAllocator(records, "request");
  }
}
