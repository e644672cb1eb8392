// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.state;

import com.google.errorprone.annotations.concurrent.GuardedBy;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/** The state of a pool of one server: in memory, and in a journal if it is to last. */
public final class LocalStore implements StateStore {
  private record Watcher(String prefix, Consumer<List<Change>> listener) {}

  private final StateTable table;
  private final @Nullable Journal journal;

  @GuardedBy("this")
  private final List<Watcher> watchers = new ArrayList<>();

  private LocalStore(StateTable table, @Nullable Journal journal) {
    this.table = table;
    this.journal = journal;
  }

  /** Forgets everything when the process ends. */
  public static LocalStore inMemory() {
    return new LocalStore(new StateTable(), null);
  }

  /**
   * Opens what is in this folder, or makes it.
   *
   * @throws StateException if it is damaged, in use, or cannot be written
   */
  public static LocalStore open(Path folder) throws StateException {
    return over(new StateTable(), table -> Journal.open(folder, table));
  }

  /** Opens or makes the journal that fills a table. */
  interface Opening {
    Journal open(StateTable table) throws StateException;
  }

  static LocalStore over(StateTable table, Opening opening) throws StateException {
    Journal journal = opening.open(table);
    LocalStore store = new LocalStore(table, journal);
    List<Write> unbound = new ArrayList<>();
    for (Entry entry : table.read("")) {
      if (entry.bound()) {
        unbound.add(new Write.Delete(entry.key()));
      }
    }
    try {
      if (!unbound.isEmpty()) {
        store.commit(List.of(), unbound);
      }
    } catch (StateException e) {
      journal.close();
      throw e;
    }
    return store;
  }

  @Override
  public synchronized Optional<Entry> get(String key) {
    return table.get(key);
  }

  @Override
  public synchronized Listing read(String prefix) {
    return new Listing(table.revision(), table.read(prefix));
  }

  @Override
  public synchronized Commit commit(List<Condition> conditions, List<Write> writes)
      throws StateException {
    Optional<Condition> broken = table.broken(conditions);
    if (broken.isPresent()) {
      return new Commit.Conflict(broken.get().key());
    }
    long revision = table.revision() + 1;
    if (journal != null) {
      journal.append(revision, writes);
    }
    List<Change> changes = table.apply(revision, writes);
    if (journal != null) {
      journal.compactIfLarge(table);
    }
    for (Watcher watcher : watchers) {
      List<Change> seen =
          changes.stream().filter(c -> c.key().startsWith(watcher.prefix())).toList();
      if (!seen.isEmpty()) {
        watcher.listener().accept(seen);
      }
    }
    return new Commit.Done(revision);
  }

  @Override
  public synchronized Listing watch(String prefix, Consumer<List<Change>> listener) {
    watchers.add(new Watcher(prefix, listener));
    return read(prefix);
  }

  @Override
  public synchronized Optional<String> trouble() {
    return Optional.ofNullable(journal).flatMap(Journal::trouble);
  }

  @Override
  public synchronized void close() {
    watchers.clear();
    if (journal != null) {
      journal.close();
    }
  }
}
