// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.state;

import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.TreeMap;

/** The entries of a store and its last revision. Owned by the store, under its lock. */
final class StateTable {
  private final TreeMap<String, Entry> entries = new TreeMap<>();
  private long revision;

  long revision() {
    return revision;
  }

  Optional<Entry> get(String key) {
    return Optional.ofNullable(entries.get(key));
  }

  List<Entry> read(String prefix) {
    return List.copyOf(entries.subMap(prefix, true, prefix + Character.MAX_VALUE, false).values());
  }

  Optional<Condition> broken(List<Condition> conditions) {
    return conditions.stream()
        .filter(c -> get(c.key()).map(Entry::revision).orElse(0L) != c.revision())
        .findFirst();
  }

  /** Puts an entry in as it was written down. */
  void restore(Entry entry) {
    entries.put(entry.key(), entry);
  }

  void restoreRevision(long last) {
    revision = last;
  }

  List<Change> apply(long next, List<Write> writes) {
    revision = next;
    List<Change> changes = new ArrayList<>();
    for (Write write : writes) {
      switch (write) {
        case Write.Put put -> {
          Entry entry = new Entry(put.key(), put.value(), next, put.bound());
          entries.put(put.key(), entry);
          changes.add(new Change(next, put.key(), entry));
        }
        case Write.Delete delete -> {
          if (entries.remove(delete.key()) != null) {
            changes.add(new Change(next, delete.key(), null));
          }
        }
      }
    }
    return changes;
  }
}
