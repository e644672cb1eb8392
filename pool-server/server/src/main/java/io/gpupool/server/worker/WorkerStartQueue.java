// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.worker;

import io.gpupool.runtime.Timers;
import io.gpupool.wire.DriverEnvironment;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.function.Consumer;

/**
 * The sessions that wait for a worker. Few workers start at a time, and tenants take turns, so that
 * one that starts many programs at once only delays its own. Owned by the control thread.
 */
public final class WorkerStartQueue {
  private final WorkerPool workers;
  private final int concurrent;

  /** By tenant; the tenant whose turn is next comes first, and none has an empty queue. */
  private final Map<String, Deque<Waiting>> queues = new LinkedHashMap<>();

  private record Waiting(boolean own, Consumer<Worker> session) {}

  public WorkerStartQueue(WorkerPool workers, int concurrent) {
    this.workers = workers;
    this.concurrent = concurrent;
    workers.whenChanged(this::next);
  }

  /**
   * Calls back with a worker, at once if one is spare or may be started.
   *
   * @param environment what its driver is to find
   */
  public Timers.Cancellable take(
      String tenant, DriverEnvironment environment, Consumer<Worker> session) {
    Waiting waiting = new Waiting(workers.needsOwn(environment), session);
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
    Optional<String> turn = nextTenant();
    while (turn.isPresent()) {
      String tenant = turn.get();
      Deque<Waiting> queue = Objects.requireNonNull(queues.remove(tenant));
      Waiting waiting = queue.remove();
      if (!queue.isEmpty()) {
        queues.put(tenant, queue);
      }
      waiting.session.accept(waiting.own ? workers.takeOwn() : workers.take());
      turn = nextTenant();
    }
  }

  /** The first whose first session can have a worker now. */
  private Optional<String> nextTenant() {
    boolean mayStart = workers.starting().size() < concurrent;
    boolean spare = workers.hasSpare();
    return queues.entrySet().stream()
        .filter(turn -> mayStart || (spare && !turn.getValue().getFirst().own()))
        .map(Map.Entry::getKey)
        .findFirst();
  }
}
