// SPDX-License-Identifier: Apache-2.0
package io.gpupool.k8s.controller;

import io.gpupool.control.v1.LeaseRequest;
import io.gpupool.k8s.controller.lease.LeaseRequests;
import io.gpupool.k8s.controller.lease.PodLease;
import io.gpupool.k8s.controller.lease.PodLeases;
import io.gpupool.k8s.controller.lease.RequiredLease;
import io.gpupool.k8s.controller.pod.Nodes;
import io.gpupool.k8s.controller.pod.PodFacts;
import io.gpupool.k8s.controller.pod.PodKey;
import io.gpupool.k8s.controller.pod.PodState;
import io.gpupool.k8s.controller.pod.PodState.Reason;
import io.gpupool.k8s.request.Names;
import io.gpupool.k8s.request.PodRequest;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.function.Function;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** The pods that ask for GPUs, each with its leases. Owned by the controller's thread. */
final class Pods {
  private static final Logger LOG = LoggerFactory.getLogger(Pods.class);

  private final PodLeases.SharedServices services;
  private final PodWriter writer;
  private final NamespaceTenants tenants;
  private final Nodes nodes;
  private final LeaseRequests requests;
  private final Duration lookEvery;
  private final Map<String, Managed> byUid = new HashMap<>();
  private boolean apart = true;

  /** A pod and its leases. */
  private static final class Managed {
    private final PodLeases leases;
    private PodFacts facts;
    private boolean deleted;

    private Managed(PodLeases leases, PodFacts facts) {
      this.leases = leases;
      this.facts = facts;
    }
  }

  Pods(
      PodLeases.SharedServices services,
      PodWriter writer,
      NamespaceTenants tenants,
      Nodes nodes,
      LeaseRequests requests) {
    this.services = services;
    this.writer = writer;
    this.tenants = tenants;
    this.nodes = nodes;
    this.requests = requests;
    lookEvery = services.times().nodeGone().dividedBy(10);
  }

  /**
   * Returns whether the pool was asked for the tenants of all pods, or cannot be; asks for those
   * that are missing.
   */
  boolean areTenantsAnswered() {
    return byUid.values().stream()
            .map(pod -> pod.facts.key().namespace())
            .filter(namespace -> !tenants.isAnswered(namespace))
            .count()
        == 0;
  }

  /** Begins to ask for leases, and to look from time to time for pods whose nodes are gone. */
  void start() {
    goOn();
    look();
  }

  private void look() {
    List.copyOf(byUid.values()).stream()
        .filter(pod -> isOver(pod) != pod.leases.isOver() || pod.leases.isOver())
        .forEach(this::refresh);
    services.timers().after(lookEvery, this::look);
  }

  void seen(PodFacts facts) {
    Managed pod = byUid.get(facts.key().uid());
    if (pod == null) {
      if (facts.finished()) {
        writer.ended(facts);
      }
      if (facts.isOver() || facts.request().isEmpty()) {
        return;
      }
      Optional<PodRequest> request = PodRequest.parse(facts.request());
      if (request.isEmpty()) {
        refuse(facts);
        return;
      }
      pod = new Managed(leases(facts, request.get()), facts);
      byUid.put(facts.key().uid(), pod);
    }
    pod.facts = facts;
    writer.seen(facts);
    refresh(pod);
  }

  private PodLeases leases(PodFacts facts, PodRequest request) {
    Function<RequiredLease, LeaseRequest> asked =
        wanted ->
            requests.of(
                facts.key(),
                request,
                wanted,
                tenants.of(facts.key().namespace()).orElse(facts.key().namespace()),
                LeaseRequests.priority(
                    facts,
                    request,
                    tenants.mostPriority(facts.key().namespace()).orElse(Integer.MAX_VALUE)));
    return new PodLeases(facts, request, asked, services);
  }

  private void refuse(PodFacts facts) {
    LOG.warn("annotation {} of pod {} is malformed", Names.REQUEST, facts.key());
    writer.state(
        facts,
        new PodState(
            Reason.REFUSED,
            "annotation " + Names.REQUEST + " is not as the webhook writes it; create the pod anew",
            Map.of(),
            false));
  }

  void gone(PodKey key) {
    writer.forget(key);
    Managed pod = byUid.get(key.uid());
    if (pod != null) {
      pod.deleted = true;
      refresh(pod);
    }
  }

  /** Updates the pods of a tenant's namespaces. */
  void refresh(String tenant) {
    for (Managed pod : inOrder()) {
      if (tenants.of(pod.facts.key().namespace()).filter(tenant::equals).isPresent()) {
        refresh(pod);
      }
    }
  }

  /** Updates the pods that have one of these leases. */
  void refreshHolders(Set<String> leases) {
    byUid.values().stream()
        .filter(pod -> pod.leases.hasAny(leases))
        .toList()
        .forEach(this::refresh);
  }

  private boolean isOver(Managed pod) {
    return pod.deleted || pod.facts.isOver() || !apart && nodes.isLost(pod.facts);
  }

  private void refresh(Managed pod) {
    boolean over = isOver(pod);
    String namespace = pod.facts.key().namespace();
    boolean ask = !apart && !over && tenants.isReady(namespace);
    pod.leases.update(pod.facts, over, ask, apart ? null : tenants.problem(namespace).orElse(null));
    if (over) {
      if (pod.facts.finished() && !pod.deleted) {
        writer.ended(pod.facts);
      } else {
        writer.forget(pod.facts.key());
      }
      if ((pod.deleted || pod.facts.isOver()) && pod.leases.isAtRest()) {
        byUid.remove(pod.facts.key().uid());
      }
    }
  }

  /** Returns the leases of a pod that is to have some or still has some. */
  Optional<PodLeases> find(String uid) {
    return Optional.ofNullable(byUid.get(uid)).map(pod -> pod.leases);
  }

  boolean isApart() {
    return apart;
  }

  /** Leaves all leases to the pool's grace. */
  void releaseHold() {
    apart = true;
    nodes.forgetMissing();
    byUid.values().forEach(pod -> pod.leases.releaseHold());
  }

  /** Asks for all leases again. */
  void goOn() {
    apart = false;
    inOrder().forEach(this::refresh);
  }

  /** Returns the pods by age: the oldest asks first. */
  private List<Managed> inOrder() {
    List<Managed> pods = new ArrayList<>(byUid.values());
    pods.sort(Comparator.comparing(pod -> pod.facts.created()));
    return pods;
  }

  ControllerStats figures(long apiCalls) {
    int granted = 0;
    int waiting = 0;
    int alive = 0;
    for (Managed pod : byUid.values()) {
      alive += pod.leases.isOver() ? 0 : 1;
      for (PodLease claim : pod.leases.claims()) {
        switch (claim.state()) {
          case HELD -> granted++;
          case ASKED, QUEUED, REFUSED, AWAY -> waiting++;
          case IDLE, RETURNED -> {}
        }
      }
    }
    return new ControllerStats(alive, waiting, granted, apiCalls, !apart);
  }
}
