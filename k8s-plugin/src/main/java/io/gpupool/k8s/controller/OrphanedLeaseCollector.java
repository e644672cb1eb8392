// SPDX-License-Identifier: Apache-2.0
package io.gpupool.k8s.controller;

import io.gpupool.control.v1.LeaseInfo;
import io.gpupool.control.v1.ListRequest;
import io.gpupool.control.v1.PodRef;
import io.gpupool.k8s.controller.lease.PodLease;
import io.gpupool.k8s.controller.lease.PodLeases;
import io.gpupool.k8s.controller.options.ControllerOptions;
import io.gpupool.k8s.controller.pod.Api;
import io.gpupool.k8s.controller.pod.ApiCalls;
import io.gpupool.k8s.controller.pod.PodFacts;
import io.gpupool.k8s.controller.pod.PodKey;
import io.gpupool.runtime.Timers;
import java.time.Duration;
import java.util.HashSet;
import java.util.Optional;
import java.util.Set;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A periodic comparison of the leases that the pool has for this cluster with the pods. It ends the
 * leases that no pod has. Owned by the controller's thread.
 */
final class OrphanedLeaseCollector {
  private static final int SOONER = 60;
  private static final Logger LOG = LoggerFactory.getLogger(OrphanedLeaseCollector.class);

  /** The condition under which an unknown pod can be taken for gone. */
  interface Trust {
    boolean isThere();
  }

  private final PoolCalls connections;
  private final Releases releases;
  private final Pods pods;
  private final Api api;
  private final ApiCalls calls;
  private final Timers timers;
  private final ControllerOptions options;
  private final Trust trust;
  private Set<String> suspects = Set.of();
  private Timers.Cancellable next = Timers.Cancellable.NOTHING;
  private boolean soon;

  OrphanedLeaseCollector(
      PoolCalls connections,
      Releases releases,
      Pods pods,
      Api api,
      ApiCalls calls,
      Timers timers,
      ControllerOptions options,
      Trust trust) {
    this.connections = connections;
    this.releases = releases;
    this.pods = pods;
    this.api = api;
    this.calls = calls;
    this.timers = timers;
    this.options = options;
    this.trust = trust;
  }

  void soon() {
    if (!soon) {
      soon = true;
      plan(options.times().sweep().dividedBy(SOONER));
    }
  }

  private void plan(Duration pause) {
    next.cancel();
    next = timers.after(pause, this::sweep);
  }

  private void sweep() {
    soon = false;
    if (!trust.isThere()) {
      soon();
      return;
    }
    plan(options.times().sweep());
    connections
        .pool()
        .listLeases(
            ListRequest.getDefaultInstance(),
            PoolCalls.answer(
                reply -> {
                  Set<String> strange = new HashSet<>();
                  reply.getLeasesList().forEach(lease -> look(lease, strange));
                  suspects = strange;
                },
                status -> LOG.debug("the pool does not list its leases: {}", status)));
  }

  private void look(LeaseInfo lease, Set<String> strange) {
    if (!lease.hasPod()
        || !lease.getHolder().getUser().equals(options.holder())
        || lease.getState() == LeaseInfo.State.STATE_ENDING
        || releases.has(lease.getId())) {
      return;
    }
    PodRef ref = lease.getPod();
    Optional<PodLeases> pod = pods.find(ref.getUid());
    if (pod.isEmpty()) {
      ask(lease.getId(), new PodKey(ref.getUid(), ref.getNamespace(), ref.getName()));
      return;
    }
    Optional<PodLease> claim =
        pod.get().claims().stream()
            .filter(c -> c.wanted().container().equals(lease.getHolder().getProgram()))
            .findFirst();
    boolean own =
        claim
            .flatMap(PodLease::lease)
            .filter(held -> held.getId().equals(lease.getId()))
            .isPresent();
    if (own) {
      return;
    }
    if (pod.get().isOver() || claim.isEmpty() || claim.get().isGivenBack()) {
      end(lease.getId(), "no pod has it");
      return;
    }
    boolean settled =
        claim.get().state() == PodLease.State.HELD || claim.get().state() == PodLease.State.QUEUED;
    if (!settled) {
      return;
    }
    // The list may be older than the latest news from the streams.
    if (suspects.contains(lease.getId())) {
      end(lease.getId(), "its pod has another one");
    } else {
      strange.add(lease.getId());
    }
  }

  /** Ends the lease of an unknown pod, if the API server does not know the pod either. */
  private void ask(String lease, PodKey key) {
    calls.run(
        () -> api.get(key),
        found -> {
          boolean over = found.map(pod -> PodFacts.of(pod).isOver()).orElse(true);
          if (over && pods.find(key.uid()).isEmpty()) {
            end(lease, "its pod has ended");
          }
        },
        failure -> LOG.debug("pod {} cannot be looked for", key, failure));
  }

  private void end(String lease, String reason) {
    LOG.info("lease {} of this cluster: {}", lease, reason);
    releases.release(lease, reason, () -> {});
  }
}
