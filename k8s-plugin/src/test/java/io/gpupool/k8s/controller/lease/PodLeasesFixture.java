// SPDX-License-Identifier: Apache-2.0
package io.gpupool.k8s.controller.lease;

import static org.assertj.core.api.Assertions.assertThat;

import io.gpupool.client.lease.LeaseEventStream;
import io.gpupool.control.v1.Cause;
import io.gpupool.control.v1.Lease;
import io.gpupool.control.v1.LeaseRequest;
import io.gpupool.control.v1.Queued;
import io.gpupool.control.v1.Refused;
import io.gpupool.control.v1.RejectionReason;
import io.gpupool.k8s.controller.ManualTimers;
import io.gpupool.k8s.controller.TestCluster;
import io.gpupool.k8s.controller.options.ControllerOptions;
import io.gpupool.k8s.controller.pod.PodFacts;
import io.gpupool.k8s.controller.pod.PodFacts.InPod;
import io.gpupool.k8s.controller.pod.PodFacts.Kind;
import io.gpupool.k8s.controller.pod.PodKey;
import io.gpupool.k8s.controller.pod.PodState;
import io.gpupool.k8s.request.GpuRequest;
import io.gpupool.k8s.request.Names;
import io.gpupool.k8s.request.PodRequest;
import io.grpc.Status;
import java.time.Instant;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Random;
import org.jspecify.annotations.Nullable;

/** A pod with its leases, on a pool of which the test decides what it answers. */
abstract class PodLeasesFixture {
  static final PodKey KEY = new PodKey("u-1", "default", "train");

  final ManualTimers timers = new ManualTimers();
  final StandInPool pool = new StandInPool();
  final Story story = new Story();
  List<InPod> containers = List.of(inPod("main", Kind.MAIN));
  Map<String, GpuRequest> asked = Map.of("main", TestCluster.part("0.5"));
  boolean gated = true;
  String node = "";
  PodFacts.@Nullable Told told;
  PodLeases pod;

  static InPod inPod(String name, Kind kind) {
    return new InPod(name, kind, false, false, false);
  }

  PodFacts facts() {
    return new PodFacts(
        KEY,
        new PodFacts.Request("", "", null),
        node,
        gated ? List.of(Names.GATE) : List.of(),
        List.of(),
        told,
        new PodFacts.Life("1", "2026-11-22T00:00:00Z", false, null),
        containers);
  }

  void begin(long seed) {
    pod =
        new PodLeases(
            facts(),
            new PodRequest(asked, Map.of(), 0),
            wanted ->
                LeaseRequest.newBuilder().setRequestId(wanted.container()).setResumed(true).build(),
            new PodLeases.SharedServices(
                pool, story, timers, ControllerOptions.Times.USUAL, new Random(seed)));
    update(false);
  }

  void update(boolean over) {
    pod.update(facts(), over, true, null);
  }

  /** The latest state of the pod, and the reasons of its events. */
  static final class Story implements PodLeases.Reporter {
    final List<String> events = new ArrayList<>();
    Optional<PodState> state = Optional.empty();
    int states;

    @Override
    public void state(PodFacts facts, PodState now) {
      states++;
      state = Optional.of(now);
    }

    @Override
    public void event(PodKey key, boolean warning, String reason, String message) {
      events.add(reason);
    }
  }

  static Queued queued(int place, String reason) {
    return Queued.newBuilder().setPosition(place).setReason(problem(reason)).build();
  }

  static RejectionReason problem(String text) {
    return RejectionReason.newBuilder()
        .setNotRecorded(RejectionReason.NotRecorded.newBuilder().setProblem(text))
        .build();
  }

  /** A pool of which the test decides what it answers. */
  static final class StandInPool implements LeasePool {
    final Map<String, Asked> open = new LinkedHashMap<>();
    final Map<String, String> leases = new LinkedHashMap<>();
    final Map<String, Runnable> releasing = new LinkedHashMap<>();
    final Map<String, Instant> disconnected = new LinkedHashMap<>();
    int granted;

    record Asked(String container, LeaseEventStream.Listener answers) {}

    @Override
    public Stream ask(LeaseRequest request, LeaseEventStream.Listener answers) {
      String container = request.getRequestId();
      assertThat(request.getResumed()).isTrue();
      assertThat(open).as("streams for one container").doesNotContainKey(container);
      assertThat(releasing).as("being given back").doesNotContainKey(leases.get(container));
      Asked asked = new Asked(container, answers);
      open.put(container, asked);
      return () -> open.remove(container, asked);
    }

    @Override
    public void release(String lease, String reason, Runnable done) {
      assertThat(releasing.put(lease, done)).as("released twice").isNull();
    }

    @Override
    public Optional<Instant> disconnectedUntil(String lease) {
      return Optional.ofNullable(disconnected.get(lease));
    }

    @Override
    public void sweepSoon() {}

    void queue(String container, int place) {
      open.get(container).answers().queued(queued(place, "all is taken"));
    }

    /** As the pool does it: a request that is made again has the lease that it had. */
    void grant(String container) {
      String lease = leases.computeIfAbsent(container, c -> "L" + ++granted);
      open.get(container).answers().granted(Lease.newBuilder().setId(lease).build());
    }

    void refuse(String container) {
      open.remove(container)
          .answers()
          .refused(
              Refused.newBuilder()
                  .setCause(Cause.CAUSE_NO_MATCH)
                  .setReason(problem("no such GPU"))
                  .build());
    }

    void end(String container) {
      leases.remove(container);
      open.remove(container).answers().ended("an admin has ended it");
    }

    void lose(String container) {
      open.remove(container)
          .answers()
          .broken(Status.UNAVAILABLE.withDescription("connection refused"));
    }

    void finishRelease(String lease) {
      Runnable done = releasing.remove(lease);
      leases.values().remove(lease);
      done.run();
    }
  }

  /** A pod that has one of its leases and waits for the other. */
  void beginWithOneOfTwo() {
    containers = List.of(inPod("main", Kind.MAIN), inPod("side", Kind.MAIN));
    asked = Map.of("main", TestCluster.part("0.5"), "side", TestCluster.part("0.5"));
    begin(1);
    pool.grant("main");
    pool.queue("side", 1);
  }
}
