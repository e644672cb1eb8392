// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.session;

import io.gpupool.server.control.Timers;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.function.Consumer;

/**
 * Sessions that wait for a worker. Few workers start at a time, and tenants take turns, so that one
 * that starts many programs at once delays its own. Owned by the control thread.
 */
final class WorkerStarts {
  private final Workers workers;
  private final int concurrent;

  /** By tenant; the tenant whose turn is next comes first, and none has an empty queue. */
  private final Map<String, Deque<Waiting>> queues = new LinkedHashMap<>();

  private record Waiting(Consumer<Worker> session) {}

  WorkerStarts(Workers workers, int concurrent) {
    this.workers = workers;
    this.concurrent = concurrent;
    workers.whenChanged(this::next);
  }

  /** Calls back with a worker, at once if one is spare or may be started. */
  Timers.Cancellable take(String tenant, Consumer<Worker> session) {
    Waiting waiting = new Waiting(session);
    queues.computeIfAbsent(tenant, of -> new ArrayDeque<>()).add(waiting);
    next();
    return () -> {
      Deque<Waiting> queue = queues.get(tenant);
      if (queue != null && queue.removeIf(other -> other == waiting) && queue.isEmpty()) {
        queues.remove(tenant);
      }
    };
  }

  private void next() {
    while (!queues.isEmpty() && (workers.hasSpare() || workers.startingCount() < concurrent)) {
      Iterator<Map.Entry<String, Deque<Waiting>>> first = queues.entrySet().iterator();
      Map.Entry<String, Deque<Waiting>> turn = first.next();
      String tenant = turn.getKey();
      Deque<Waiting> queue = turn.getValue();
      Waiting waiting = queue.remove();
      first.remove();
      if (!queue.isEmpty()) {
        queues.put(tenant, queue);
      }
      waiting.session.accept(workers.take());
    }
  }
}
