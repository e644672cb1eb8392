// SPDX-License-Identifier: Apache-2.0
package io.gpupool.k8s.controller.pod;

import io.gpupool.runtime.Timers;
import java.time.Duration;
import java.time.Instant;
import java.util.HashMap;
import java.util.Map;
import java.util.function.BooleanSupplier;

/** The cluster's nodes; a pod ends with its node. Owned by the controller's thread. */
public final class Nodes {
  private final Timers timers;
  private final Duration patience;
  private final BooleanSupplier areListed;
  private final Map<String, Boolean> ready = new HashMap<>();
  private final Map<String, Long> missingSinceNanos = new HashMap<>();

  public Nodes(Timers timers, Duration patience, BooleanSupplier areListed) {
    this.timers = timers;
    this.patience = patience;
    this.areListed = areListed;
  }

  public void seen(String name, boolean isReady) {
    ready.put(name, isReady);
    missingSinceNanos.remove(name);
  }

  public void gone(String name) {
    ready.remove(name);
  }

  /** Forgets how long nodes have been missing: perhaps their changes were not reported. */
  public void forgetMissing() {
    missingSinceNanos.clear();
  }

  /** Returns whether a pod is on a node that will never report its end. */
  public boolean isLost(PodFacts pod) {
    if (pod.node().isEmpty() || !areListed.getAsBoolean()) {
      return false;
    }
    Boolean isReady = ready.get(pod.node());
    if (isReady == null) {
      long sinceNanos = missingSinceNanos.computeIfAbsent(pod.node(), n -> timers.nowNanos());
      return timers.nowNanos() - sinceNanos >= patience.toNanos();
    }
    return !isReady && pod.deadline().filter(this::isLongOver).isPresent();
  }

  private boolean isLongOver(Instant deadline) {
    return deadline.isBefore(timers.now().minus(patience));
  }
}
