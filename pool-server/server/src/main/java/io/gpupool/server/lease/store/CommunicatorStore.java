// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.lease.store;

import io.gpupool.server.records.CommunicatorRank;
import io.gpupool.server.records.RecordTypes;
import io.gpupool.server.state.RecordStore;
import io.gpupool.server.state.StateException;
import java.util.HashMap;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;

/**
 * The records of the ranks of communicators, which go with the server that wrote them. Owned by the
 * control thread.
 */
public final class CommunicatorStore {
  private final RecordStore records;

  CommunicatorStore(RecordStore records) {
    this.records = records;
  }

  /**
   * The name of a rank in the pool.
   *
   * @param communicator 64 hexadecimal digits
   */
  public record Name(String communicator, int rank) {
    private static final char SEPARATOR = '/';

    String key() {
      return communicator + SEPARATOR + rank;
    }

    static Name of(String key) {
      int at = key.indexOf(SEPARATOR);
      return new Name(key.substring(0, at), Integer.parseInt(key.substring(at + 1)));
    }
  }

  /** Has an action run after every change, on the thread that brought it. */
  public void whenChanged(Runnable action) {
    records.whenChanged(RecordTypes.COMMUNICATOR_RANKS, action);
  }

  /**
   * Records a rank.
   *
   * @return whether it is recorded; if not, there is one of that name
   */
  public boolean add(Name name, CommunicatorRank rank) throws StateException {
    return records.transact(transaction -> {
      if (transaction.get(RecordTypes.COMMUNICATOR_RANKS, name.key()).isPresent()) {
        return false;
      }
      transaction.putBound(RecordTypes.COMMUNICATOR_RANKS, name.key(), rank);
      return true;
    });
  }

  /** Records that a rank has left; others see that it is not lost. */
  public void leave(Name name) throws StateException {
    records.update(transaction -> {
      Optional<CommunicatorRank> rank = transaction.get(RecordTypes.COMMUNICATOR_RANKS, name.key());
      if (rank.isPresent()) {
        transaction.putBound(RecordTypes.COMMUNICATOR_RANKS, name.key(), rank.get().left());
      }
    });
  }

  public void delete(Name name) throws StateException {
    records.update(transaction -> transaction.delete(RecordTypes.COMMUNICATOR_RANKS, name.key()));
  }

  public Optional<CommunicatorRank> get(Name name) {
    return records.get(RecordTypes.COMMUNICATOR_RANKS, name.key()).map(found -> found.value());
  }

  /** Returns the ranks of all communicators that are recorded. */
  public Map<String, Map<Integer, CommunicatorRank>> all() {
    Map<String, Map<Integer, CommunicatorRank>> all = new HashMap<>();
    records
        .all(RecordTypes.COMMUNICATOR_RANKS)
        .forEach((key, rank) -> {
          Name name = Name.of(key);
          all.computeIfAbsent(name.communicator(), _ -> new TreeMap<>())
              .put(name.rank(), rank.value());
        });
    return all;
  }
}
