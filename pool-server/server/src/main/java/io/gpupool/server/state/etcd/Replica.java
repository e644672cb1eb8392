// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.state.etcd;

import com.google.errorprone.annotations.concurrent.GuardedBy;
import io.gpupool.server.state.Change;
import io.gpupool.server.state.Condition;
import io.gpupool.server.state.Entry;
import io.gpupool.server.state.Listing;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.concurrent.TimeUnit;
import java.util.function.BooleanSupplier;
import java.util.function.Consumer;

/** A replica of etcd's content at a revision, and the watchers of its changes. For any thread. */
final class Replica {
  private record Watcher(String prefix, Consumer<List<Change>> listener) {}

  @GuardedBy("this")
  private final TreeMap<String, Entry> entries = new TreeMap<>();

  @GuardedBy("this")
  private final List<Watcher> watchers = new ArrayList<>();

  @GuardedBy("this")
  private long revision;

  synchronized long revision() {
    return revision;
  }

  synchronized Optional<Entry> get(String key) {
    return Optional.ofNullable(entries.get(key));
  }

  synchronized Listing read(String prefix) {
    return new Listing(
        revision,
        List.copyOf(entries.subMap(prefix, true, prefix + Character.MAX_VALUE, false).values()));
  }

  synchronized Listing watch(String prefix, Consumer<List<Change>> listener) {
    watchers.add(new Watcher(prefix, listener));
    return read(prefix);
  }

  synchronized void forgetWatchers() {
    watchers.clear();
  }

  /** Takes over all there is at a revision. */
  synchronized void replace(long at, List<Entry> all) {
    if (at <= revision) {
      return;
    }
    Map<String, Entry> now = new TreeMap<>();
    all.forEach(entry -> now.put(entry.key(), entry));
    List<Change> changes = new ArrayList<>();
    for (String key : entries.keySet()) {
      if (!now.containsKey(key)) {
        changes.add(new Change(at, key, null));
      }
    }
    for (Entry entry : now.values()) {
      if (!entry.equals(entries.get(entry.key()))) {
        changes.add(new Change(entry.revision(), entry.key(), entry));
      }
    }
    take(at, changes);
  }

  /** Takes over what changed from the revision before to this one. */
  synchronized void apply(long at, List<Change> changes) {
    if (at > revision) {
      take(at, changes);
    }
  }

  @GuardedBy("this")
  private void take(long at, List<Change> changes) {
    revision = at;
    for (Change change : changes) {
      if (change.entry() != null) {
        entries.put(change.key(), change.entry());
      } else {
        entries.remove(change.key());
      }
    }
    for (Watcher watcher : watchers) {
      List<Change> seen =
          changes.stream().filter(c -> c.key().startsWith(watcher.prefix())).toList();
      if (!seen.isEmpty()) {
        watcher.listener().accept(seen);
      }
    }
    notifyAll();
  }

  /** Waits until it is at this revision; false if that took too long. */
  boolean await(long wanted, long limitMillis) throws InterruptedException {
    return await(() -> revision() >= wanted, limitMillis);
  }

  /** Waits until a key is not what the condition says; false if that took too long. */
  boolean awaitOther(Condition stale, long limitMillis) throws InterruptedException {
    return await(
        () -> get(stale.key()).map(Entry::revision).orElse(0L) != stale.revision(), limitMillis);
  }

  private synchronized boolean await(BooleanSupplier reached, long limitMillis)
      throws InterruptedException {
    long deadline = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(limitMillis);
    while (!reached.getAsBoolean()) {
      long left = TimeUnit.NANOSECONDS.toMillis(deadline - System.nanoTime());
      if (left <= 0) {
        return false;
      }
      wait(left);
    }
    return true;
  }
}
