// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.state;

import com.google.errorprone.annotations.concurrent.GuardedBy;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.NavigableMap;
import java.util.Optional;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.concurrent.atomic.LongAdder;
import java.util.concurrent.locks.ReadWriteLock;
import java.util.concurrent.locks.ReentrantReadWriteLock;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The content of a store as records, decoded once and kept up to date, and edits of it that are
 * repeated until they do not conflict. A reader that sees one change of a commit sees them all. For
 * any thread.
 */
public final class RecordStore implements AutoCloseable {
  private static final int MAX_ATTEMPTS = 64;
  private static final Logger LOG = LoggerFactory.getLogger(RecordStore.class);

  private final StateStore store;
  private final List<RecordType<?>> kinds;
  private final ReadWriteLock lock = new ReentrantReadWriteLock();

  @GuardedBy("lock")
  private final NavigableMap<String, Versioned<?>> records = new TreeMap<>();

  private final LongAdder commits = new LongAdder();
  private final LongAdder conflicts = new LongAdder();
  private final LongAdder failures = new LongAdder();

  @GuardedBy("this")
  private final List<Listener> listeners = new ArrayList<>();

  private record Listener(String prefix, Runnable action) {}

  /** An edit through a transaction. It may run several times, and has no other effect. */
  public interface Edit<T, E extends Exception> {
    T apply(Transaction transaction) throws E;
  }

  /** An edit without a result. */
  public interface Update<E extends Exception> {
    void apply(Transaction transaction) throws E;
  }

  /**
   * Reads everything.
   *
   * @throws StateException if something cannot be read
   */
  public RecordStore(StateStore store, List<RecordType<?>> kinds) throws StateException {
    this.store = store;
    this.kinds = List.copyOf(kinds);
    // Changes that come meanwhile wait until what was listed is in.
    synchronized (this) {
      Map<String, @Nullable Versioned<?>> listed = new TreeMap<>();
      for (Entry entry : store.watch("", this::applyChanges).entries()) {
        listed.put(entry.key(), decode(entry));
      }
      take(listed);
    }
  }

  public <T> Optional<Versioned<T>> get(RecordType<T> kind, String id) {
    lock.readLock().lock();
    try {
      @SuppressWarnings("unchecked")
      Versioned<T> record = (Versioned<T>) records.get(kind.key(id));
      return Optional.ofNullable(record);
    } finally {
      lock.readLock().unlock();
    }
  }

  /** All records of a kind by id, in the order of their ids. */
  public <T> Map<String, Versioned<T>> all(RecordType<T> kind) {
    Map<String, Versioned<T>> all = new TreeMap<>();
    lock.readLock().lock();
    try {
      for (Map.Entry<String, Versioned<?>> record : of(kind).entrySet()) {
        @SuppressWarnings("unchecked")
        Versioned<T> typed = (Versioned<T>) record.getValue();
        all.put(record.getKey().substring(kind.prefix().length()), typed);
      }
    } finally {
      lock.readLock().unlock();
    }
    return all;
  }

  public int count(RecordType<?> kind) {
    lock.readLock().lock();
    try {
      return of(kind).size();
    } finally {
      lock.readLock().unlock();
    }
  }

  /** The ids that come first in their order, at most this many. */
  public List<String> first(RecordType<?> kind, int limit) {
    lock.readLock().lock();
    try {
      return of(kind).keySet().stream()
          .limit(limit)
          .map(key -> key.substring(kind.prefix().length()))
          .toList();
    } finally {
      lock.readLock().unlock();
    }
  }

  /**
   * Commits what an edit does.
   *
   * @return what the edit returned
   * @throws E from the edit; then nothing has changed
   * @throws StateException if it cannot be written; then nothing has changed
   */
  public <T, E extends Exception> T transact(Edit<T, E> edit) throws E, StateException {
    for (int attempt = 0; attempt < MAX_ATTEMPTS; attempt++) {
      Transaction transaction = new Transaction(this);
      T result = edit.apply(transaction);
      List<Write> writes = transaction.writes();
      if (writes.isEmpty()) {
        return result;
      }
      if (commit(transaction, writes)) {
        commits.increment();
        return result;
      }
      conflicts.increment();
    }
    throw new StateException("too many change the same thing at the same time; try again");
  }

  /**
   * Commits what an edit without a result does.
   *
   * @throws E from the edit; then nothing has changed
   * @throws StateException if it cannot be written; then nothing has changed
   */
  public <E extends Exception> void update(Update<E> edit) throws E, StateException {
    this.<Boolean, E>transact(transaction -> {
      edit.apply(transaction);
      return true;
    });
  }

  /** Why nothing can be changed now; empty if, as far as is known, it can. */
  public Optional<String> trouble() {
    return store.trouble();
  }

  private boolean commit(Transaction transaction, List<Write> writes) throws StateException {
    try {
      return store.commit(transaction.conditions(), writes) instanceof Commit.Done;
    } catch (StateException e) {
      failures.increment();
      throw e;
    }
  }

  /** What was written since the start. */
  public long commits() {
    return commits.sum();
  }

  /** How often another came between. */
  public long conflicts() {
    return conflicts.sum();
  }

  /** What could not be written. */
  public long failures() {
    return failures.sum();
  }

  /**
   * Has an action run after every change of records of a kind, whoever made it: on the thread that
   * brought it, which must not be kept.
   */
  public synchronized void whenChanged(RecordType<?> kind, Runnable action) {
    listeners.add(new Listener(kind.prefix(), action));
  }

  @Override
  public void close() {
    store.close();
  }

  @GuardedBy("lock")
  private SortedMap<String, Versioned<?>> of(RecordType<?> kind) {
    return records.subMap(kind.prefix(), kind.prefix() + Character.MAX_VALUE);
  }

  private synchronized void applyChanges(List<Change> changes) {
    Map<String, @Nullable Versioned<?>> changed = new TreeMap<>();
    for (Change change : changes) {
      try {
        changed.put(change.key(), change.entry() == null ? null : decode(change.entry()));
      } catch (StateException e) {
        LOG.error("{}", e.getMessage());
      }
    }
    take(changed);
    for (Listener listener : listeners) {
      if (changes.stream().anyMatch(change -> change.key().startsWith(listener.prefix()))) {
        listener.action().run();
      }
    }
  }

  /** Takes over records, all at once for whoever reads; null: the record is gone. */
  private void take(Map<String, @Nullable Versioned<?>> changed) {
    lock.writeLock().lock();
    try {
      changed.forEach((key, record) -> records.compute(key, (k, before) -> record));
    } finally {
      lock.writeLock().unlock();
    }
  }

  private Versioned<?> decode(Entry entry) throws StateException {
    for (RecordType<?> kind : kinds) {
      if (entry.key().startsWith(kind.prefix())) {
        try {
          return new Versioned<>(kind.decoder().decode(entry.value()), entry.revision());
        } catch (StateException e) {
          throw new StateException(
              "the record " + entry.key() + " cannot be read: " + e.getMessage(), e);
        }
      }
    }
    throw new StateException(
        "the record "
            + entry.key()
            + " is of a kind that this version of gpupool does not know; run the version that wrote"
            + " it");
  }
}
