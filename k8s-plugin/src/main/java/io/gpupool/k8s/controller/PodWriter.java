// SPDX-License-Identifier: Apache-2.0
package io.gpupool.k8s.controller;

import io.fabric8.kubernetes.api.model.Pod;
import io.fabric8.kubernetes.client.KubernetesClientException;
import io.gpupool.k8s.api.Failures;
import io.gpupool.k8s.controller.lease.PodLeases;
import io.gpupool.k8s.controller.options.ControllerOptions;
import io.gpupool.k8s.controller.pod.Api;
import io.gpupool.k8s.controller.pod.ApiCalls;
import io.gpupool.k8s.controller.pod.PodFacts;
import io.gpupool.k8s.controller.pod.PodKey;
import io.gpupool.k8s.controller.pod.PodPatches;
import io.gpupool.k8s.controller.pod.PodState;
import io.gpupool.k8s.controller.pod.PodState.Reason;
import io.gpupool.runtime.BackOff;
import io.gpupool.runtime.Timers;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.HashMap;
import java.util.Map;
import java.util.Optional;
import java.util.Queue;
import java.util.Set;
import java.util.random.RandomGenerator;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A writer of pods' states. It writes news at once, and places in the queue from time to time, less
 * often the more pods wait. Owned by the controller's thread.
 */
final class PodWriter implements PodLeases.Reporter {
  private static final Set<Reason> URGENT =
      Set.of(Reason.GRANTED, Reason.DISCONNECTED, Reason.REFUSED, Reason.GIVEN_BACK);

  /** The number of pods up to which places are kept as fresh as the options say. */
  private static final int PODS = 100;

  private static final int CONFLICTS = 4;
  private static final int EVENT_TRIES = 5;
  private static final int BAD_REQUEST = 400;
  private static final int NOT_FOUND = 404;
  private static final int CONFLICT = 409;
  private static final int UNPROCESSABLE = 422;
  private static final int SERVER_ERROR = 500;
  private static final Logger LOG = LoggerFactory.getLogger(PodWriter.class);

  private final Api api;
  private final ApiCalls calls;
  private final Timers timers;
  private final ControllerOptions.Times times;
  private final RandomGenerator random;
  private final Map<String, Page> pages = new HashMap<>();
  private final Queue<Page> unhurried = new ArrayDeque<>();
  private boolean pumping;

  PodWriter(
      Api api,
      ApiCalls calls,
      Timers timers,
      ControllerOptions.Times times,
      RandomGenerator random) {
    this.api = api;
    this.calls = calls;
    this.timers = timers;
    this.times = times;
    this.random = random;
  }

  /** The state to write of one pod. */
  private final class Page {
    private final BackOff pause = times.retries().jittered(random);
    private PodFacts pod;
    private PodState state;
    private boolean busy;
    private boolean planned;
    private boolean failing;
    private boolean refused;
    private long writtenAtNanos = timers.nowNanos() - times.reports().position().toNanos();

    private Page(PodFacts pod, PodState state) {
      this.pod = pod;
      this.state = state;
    }

    private boolean isAsItShould() {
      return PodPatches.ofPod(pod, state).isEmpty()
          && PodPatches.ofStatus(pod, state, timers.now()).isEmpty();
    }

    /** Returns whether somebody waits to hear it. */
    private boolean isUrgent() {
      return state.reason() != Reason.ENDED && mattersNow();
    }

    private boolean mattersNow() {
      PodFacts.Told told = pod.told();
      return PodPatches.ofPod(pod, state).isPresent()
          || told == null
          || URGENT.contains(state.reason()) && !told.reason().equals(state.reason().text());
    }
  }

  @Override
  public void state(PodFacts pod, PodState state) {
    Page page = pages.computeIfAbsent(pod.key().uid(), uid -> new Page(pod, state));
    page.state = state;
    plan(page);
  }

  /** Writes that a pod has ended and that its leases are no longer granted. */
  void ended(PodFacts pod) {
    Page page = pages.computeIfAbsent(pod.key().uid(), uid -> new Page(pod, PodState.ended()));
    if (!isOlder(pod.version(), page.pod.version())) {
      page.pod = pod;
    }
    page.state = PodState.ended();
    plan(page);
  }

  /** Takes note of a pod as it is now. */
  void seen(PodFacts pod) {
    Page page = pages.get(pod.key().uid());
    if (page != null && !isOlder(pod.version(), page.pod.version())) {
      page.pod = pod;
      plan(page);
    }
  }

  /** Writes nothing more of a pod. */
  void forget(PodKey pod) {
    pages.remove(pod.uid());
  }

  private static boolean isOlder(String version, String other) {
    try {
      return Long.parseLong(version) < Long.parseLong(other);
    } catch (NumberFormatException e) {
      return false;
    }
  }

  private boolean isOpen(Page page) {
    return pages.get(page.pod.key().uid()) == page;
  }

  private void plan(Page page) {
    if (page.busy || page.failing || !isOpen(page)) {
      return;
    }
    if (page.isAsItShould()) {
      if (page.state.reason() == Reason.ENDED) {
        forget(page.pod.key());
      }
      return;
    }
    if (page.isUrgent()) {
      write(page);
    } else if (!page.planned) {
      page.planned = true;
      long leftNanos =
          page.writtenAtNanos + times.reports().position().toNanos() - timers.nowNanos();
      timers.after(
          Duration.ofNanos(Math.max(0, leftNanos)),
          () -> {
            unhurried.add(page);
            pump();
          });
    }
  }

  private void pump() {
    if (pumping) {
      return;
    }
    Page page = unhurried.poll();
    if (page == null) {
      return;
    }
    page.planned = false;
    if (page.busy || page.failing || !isOpen(page) || page.isAsItShould()) {
      pump();
      return;
    }
    write(page);
    pumping = true;
    timers.after(
        times.reports().position().dividedBy(PODS),
        () -> {
          pumping = false;
          pump();
        });
  }

  private void write(Page page) {
    page.busy = true;
    PodFacts pod = page.pod;
    PodState state = page.state;
    calls.run(
        () -> written(pod, state), result -> done(page, result.orElse(null)), e -> failed(page, e));
  }

  /** Returns the pod as written; empty if it is gone. */
  private Optional<PodFacts> written(PodFacts pod, PodState state) {
    PodFacts now = pod;
    for (int conflicts = 0; ; conflicts++) {
      try {
        Optional<String> ofPod = PodPatches.ofPod(now, state);
        if (ofPod.isPresent()) {
          now = PodFacts.of(api.patch(now.key(), ofPod.get()));
        }
        Optional<String> ofStatus = PodPatches.ofStatus(now, state, timers.now());
        if (ofStatus.isPresent()) {
          now = PodFacts.of(api.patchStatus(now.key(), ofStatus.get()));
        }
        return Optional.of(now);
      } catch (KubernetesClientException e) {
        if (e.getCode() == NOT_FOUND) {
          return Optional.empty();
        }
        boolean conflict =
            e.getCode() == CONFLICT || e.getCode() == UNPROCESSABLE || e.getCode() == SERVER_ERROR;
        if (!conflict || conflicts == CONFLICTS) {
          throw e;
        }
        Optional<Pod> fresh = api.get(now.key());
        if (fresh.isEmpty()) {
          return Optional.empty();
        }
        now = PodFacts.of(fresh.get());
      }
    }
  }

  private void done(Page page, @Nullable PodFacts result) {
    page.busy = false;
    page.writtenAtNanos = timers.nowNanos();
    page.pause.reset();
    page.refused = false;
    if (result == null) {
      pages.remove(page.pod.key().uid(), page);
      return;
    }
    if (!isOlder(result.version(), page.pod.version())) {
      page.pod = result;
    }
    plan(page);
  }

  private void failed(Page page, KubernetesClientException failure) {
    LOG.debug("pod {} cannot be told yet how it stands", page.pod.key(), failure);
    boolean refused = failure.getCode() >= BAD_REQUEST && failure.getCode() < SERVER_ERROR;
    if (refused && !page.refused) {
      LOG.warn(
          "cannot update the status of pod {} or remove its scheduling gate; it is retried: {}",
          page.pod.key(),
          Failures.reason(failure));
    }
    page.refused = refused;
    page.busy = false;
    page.failing = true;
    timers.after(
        page.pause.next(),
        () -> {
          page.failing = false;
          plan(page);
        });
  }

  @Override
  public void event(PodKey pod, boolean warning, String reason, String message) {
    LOG.info("pod {}: {}: {}", pod, reason, message);
    event(pod, warning, reason, message, times.retries().jittered(random), 1);
  }

  private void event(
      PodKey pod, boolean warning, String reason, String message, BackOff pause, int tries) {
    calls.run(
        () -> {
          api.event(pod, warning, reason, message);
          return pod;
        },
        ignored -> {},
        failure -> {
          LOG.debug("event {} of pod {} cannot be written", reason, pod, failure);
          // Events in a namespace that is ending are refused.
          if (tries < EVENT_TRIES
              && (failure.getCode() == 0 || failure.getCode() >= SERVER_ERROR)) {
            timers.after(
                pause.next(), () -> event(pod, warning, reason, message, pause, tries + 1));
          }
        });
  }
}
