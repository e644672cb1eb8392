// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.lease.cluster;

import io.gpupool.runtime.Timers;
import io.gpupool.server.capacity.Capacity;
import io.gpupool.server.gpu.Gpu;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Map;
import java.util.Set;

/**
 * A tracker of the time since which each server has no lease, as far as this one has seen. The time
 * starts again when this server does. Owned by the control thread.
 */
public final class IdleServerTracker {
  private static final long SOON_MILLIS = 100;

  private final Capacity capacity;
  private final Timers timers;
  private final Map<String, Long> sinceNanos = new HashMap<>();
  private boolean planned;

  public IdleServerTracker(Capacity capacity, Timers timers) {
    this.capacity = capacity;
    this.timers = timers;
  }

  /** A lease has come or gone; many at a time cost one look. */
  public void note() {
    if (!planned) {
      planned = true;
      timers.after(SOON_MILLIS, this::update);
    }
  }

  /** Time since a server's last lease ended, at least one; 0: it has some. */
  public long idleMillis(String server) {
    update();
    Long since = sinceNanos.get(server);
    return since == null ? 0 : Math.max(1, (timers.nowNanos() - since) / 1_000_000);
  }

  private void update() {
    planned = false;
    Set<String> idle = new HashSet<>();
    Set<String> leased = new HashSet<>();
    for (Gpu gpu : capacity.gpus()) {
      (capacity.division(gpu).allocations().isEmpty() ? idle : leased).add(gpu.server());
    }
    idle.removeAll(leased);
    sinceNanos.keySet().retainAll(idle);
    idle.forEach(server -> sinceNanos.putIfAbsent(server, timers.nowNanos()));
  }
}
