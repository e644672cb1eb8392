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
import io.gpupool.k8s.controller.pod.PodState.Reason;
import io.gpupool.k8s.request.GpuRequest;
import io.gpupool.k8s.request.Names;
import io.gpupool.k8s.request.PodRequest;
import io.grpc.Status;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Random;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.RepeatedTest;
import org.junit.jupiter.api.RepetitionInfo;
import org.junit.jupiter.api.Test;

class PodLeasesTest {
  private static final PodKey KEY = new PodKey("u-1", "default", "train");

  private final ManualTimers timers = new ManualTimers();
  private final StandInPool pool = new StandInPool();
  private final Story story = new Story();
  private List<InPod> containers = List.of(inPod("main", Kind.MAIN));
  private Map<String, GpuRequest> asked = Map.of("main", TestCluster.part("0.5"));
  private boolean gated = true;
  private String node = "";
  private PodFacts.@Nullable Told told;
  private PodLeases pod;

  private static InPod inPod(String name, Kind kind) {
    return new InPod(name, kind, false, false, false);
  }

  private PodFacts facts() {
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

  private void begin(long seed) {
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

  private void update(boolean over) {
    pod.update(facts(), over, true, null);
  }

  /** What was told. */
  private static final class Story implements PodLeases.Reporter {
    private final List<String> events = new ArrayList<>();
    private Optional<PodState> state = Optional.empty();
    private int states;

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

  private static Queued queued(int place, String reason) {
    return Queued.newBuilder().setPosition(place).setReason(problem(reason)).build();
  }

  private static RejectionReason problem(String text) {
    return RejectionReason.newBuilder()
        .setNotRecorded(RejectionReason.NotRecorded.newBuilder().setProblem(text))
        .build();
  }

  /** A pool of which the test decides what it answers. */
  private static final class StandInPool implements LeasePool {
    private final Map<String, Asked> open = new LinkedHashMap<>();
    private final Map<String, String> leases = new LinkedHashMap<>();
    private final Map<String, Runnable> releasing = new LinkedHashMap<>();
    private final Map<String, Instant> disconnected = new LinkedHashMap<>();
    private int granted;

    private record Asked(String container, LeaseEventStream.Listener answers) {}

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

  @Test
  void pod_isGranted_mayRun() {
    begin(1);
    pool.grant("main");
    assertThat(story.state.orElseThrow().mayRun()).isTrue();
    assertThat(story.state.orElseThrow().leases()).isEqualTo(Map.of("main", "L1"));
    assertThat(story.events).containsExactly("LeaseGranted");
  }

  @Test
  void pod_waitsForAMoment_tellsNothingOfIt() {
    begin(1);
    pool.queue("main", 3);
    timers.pass(Duration.ofMillis(100));
    pool.grant("main");
    timers.pass(Duration.ofSeconds(10));
    assertThat(story.events).containsExactly("LeaseGranted");
  }

  @Test
  void pod_waitsForLong_tellsItOnceUntilTheReasonChanges() {
    begin(1);
    pool.queue("main", 3);
    timers.pass(Duration.ofMinutes(20));
    pool.queue("main", 2);
    timers.pass(Duration.ofMinutes(20));
    assertThat(story.events).containsExactly("LeaseQueued");
    assertThat(story.state.orElseThrow().message())
        .startsWith("place 2 in the queue: ")
        .endsWith("all is taken");
    pool.open.get("main").answers().queued(queued(2, "the tenant has all that it may"));
    assertThat(story.events).containsExactly("LeaseQueued", "LeaseQueued");
  }

  /** A pod that has one of its leases and waits for the other. */
  private void beginWithOneOfTwo() {
    containers = List.of(inPod("main", Kind.MAIN), inPod("side", Kind.MAIN));
    asked = Map.of("main", TestCluster.part("0.5"), "side", TestCluster.part("0.5"));
    begin(1);
    pool.grant("main");
    pool.queue("side", 1);
  }

  @Test
  void pod_hasOneOfTwoForThreeMinutes_givesItBackAndAsksAgain() {
    beginWithOneOfTwo();
    timers.pass(Duration.ofSeconds(179));
    assertThat(pool.releasing).isEmpty();
    timers.pass(Duration.ofSeconds(2));
    assertThat(pool.releasing).containsOnlyKeys("L1");
    assertThat(pool.open).isEmpty();
    timers.pass(Duration.ofMinutes(5));
    assertThat(pool.open).as("not before the other is back").containsOnlyKeys("side");
    pool.finishRelease("L1");
    assertThat(pool.open).containsOnlyKeys("main", "side");
    pool.grant("main");
    pool.grant("side");
    assertThat(story.state.orElseThrow().mayRun()).isTrue();
  }

  /** With one of two leases given back, until it asks again. */
  private void pause() {
    beginWithOneOfTwo();
    timers.pass(Duration.ofSeconds(181));
    pool.finishRelease("L1");
    assertThat(pool.open).isEmpty();
  }

  @Test
  void pod_isLeftAloneWhileItPauses_asksAgain() {
    pause();
    pod.releaseHold();
    timers.pass(Duration.ofMinutes(30));
    update(false);
    assertThat(pool.open).containsOnlyKeys("main", "side");
  }

  @Test
  void pod_seemsToHaveEndedWhileItPauses_asksAgain() {
    pause();
    update(true);
    timers.pass(Duration.ofMinutes(30));
    update(false);
    assertThat(pool.open).containsOnlyKeys("main", "side");
  }

  @Test
  void pod_noNodeTakesIt_givesItsLeaseBackUntilOneDoes() {
    begin(1);
    pool.grant("main");
    timers.pass(Duration.ofMinutes(20));
    assertThat(pool.releasing).as("while it is gated").isEmpty();
    gated = false;
    update(false);
    timers.pass(Duration.ofMinutes(4));
    assertThat(pool.releasing).isEmpty();
    timers.pass(Duration.ofMinutes(2));
    assertThat(pool.releasing).containsOnlyKeys("L1");
    pool.finishRelease("L1");
    timers.pass(Duration.ofMinutes(20));
    assertThat(pool.open).isEmpty();
    assertThat(story.state.orElseThrow().reason()).isEqualTo(Reason.GIVEN_BACK);
    assertThat(story.events).containsExactly("LeaseGranted", "LeaseGivenBack");
    node = "node-1";
    update(false);
    pool.grant("main");
    timers.pass(Duration.ofMinutes(20));
    assertThat(pool.leases).containsEntry("main", "L2");
    assertThat(pool.releasing).isEmpty();
    assertThat(story.events).containsExactly("LeaseGranted", "LeaseGivenBack", "LeaseGranted");
  }

  @Test
  void pod_nodeTakesItInTime_keepsItsLease() {
    gated = false;
    begin(1);
    pool.grant("main");
    timers.pass(Duration.ofMinutes(4));
    node = "node-1";
    update(false);
    timers.pass(Duration.ofMinutes(20));
    assertThat(pool.releasing).isEmpty();
    assertThat(pool.open).containsOnlyKeys("main");
  }

  @Test
  void pod_runsAndOneOfTwoIsLost_keepsTheOther() {
    gated = false;
    containers =
        List.of(
            new InPod("main", Kind.MAIN, true, true, false),
            new InPod("side", Kind.MAIN, true, true, false));
    asked = Map.of("main", TestCluster.part("0.5"), "side", TestCluster.part("0.5"));
    begin(1);
    pool.grant("main");
    pool.grant("side");
    pool.end("side");
    assertThat(story.events).containsExactly("LeaseGranted", "LeaseLost");
    timers.pass(Duration.ofMinutes(30));
    assertThat(pool.leases).containsOnlyKeys("main");
    assertThat(pool.releasing).isEmpty();
    assertThat(pool.open).containsOnlyKeys("main", "side");
  }

  @Test
  void pool_doesNotAnswerForAWhile_changesNothingForWhoHasALease() {
    begin(1);
    pool.grant("main");
    pool.lose("main");
    timers.pass(Duration.ofSeconds(1));
    assertThat(story.state.orElseThrow().reason()).isEqualTo(Reason.GRANTED);
    pool.grant("main");
    assertThat(story.events).containsExactly("LeaseGranted");
  }

  @Test
  void pod_isLeftAloneAndTakenUpAgain_hasTheSameLease() {
    begin(1);
    pool.grant("main");
    pod.releaseHold();
    assertThat(pool.open).isEmpty();
    assertThat(pool.releasing).isEmpty();
    update(false);
    pool.grant("main");
    assertThat(pool.leases).containsEntry("main", "L1");
    assertThat(story.events).containsExactly("LeaseGranted");
  }

  private void lose(String lease, String until) {
    pool.disconnected.put(lease, Instant.parse(until));
    update(false);
  }

  private void comeBack(String lease) {
    pool.disconnected.remove(lease);
    update(false);
  }

  @Test
  void program_losesItsConnection_isToldUntilItIsBack() {
    begin(1);
    pool.grant("main");
    String granted = story.state.orElseThrow().message();
    lose("L1", "2026-11-27T12:34:56.789Z");
    PodState lost = story.state.orElseThrow();
    assertThat(lost.reason()).isEqualTo(Reason.DISCONNECTED);
    assertThat(lost.isGranted()).isTrue();
    assertThat(lost.mayRun()).isTrue();
    assertThat(lost.message())
        .isEqualTo(
            granted + "; the connection of a program was lost, and may come back until 12:34:56Z");
    comeBack("L1");
    assertThat(story.state.orElseThrow().reason()).isEqualTo(Reason.GRANTED);
    assertThat(story.state.orElseThrow().message()).isEqualTo(granted);
    assertThat(story.events).containsExactly("LeaseGranted", "LeaseDisconnected");
  }

  @Test
  void program_staysDisconnected_isToldOnce() {
    begin(1);
    pool.grant("main");
    lose("L1", "2026-11-27T12:34:56Z");
    int before = story.states;
    update(false);
    update(false);
    assertThat(story.states).isEqualTo(before);
  }

  @Test
  void program_losesItsConnectionAgainAndAgain_hasAnEventEveryFiveMinutes() {
    gated = false;
    node = "node-1";
    begin(1);
    pool.grant("main");
    for (int i = 0; i < 12; i++) {
      lose("L1", "2026-11-27T12:%02d:00Z".formatted(i));
      comeBack("L1");
      timers.pass(Duration.ofSeconds(50));
    }
    assertThat(story.events)
        .containsExactly("LeaseGranted", "LeaseDisconnected", "LeaseDisconnected");
  }

  @Test
  void program_ofOneOfTwoContainersLosesItsConnection_containerIsNamed() {
    beginWithOneOfTwo();
    pool.grant("side");
    lose("L2", "2026-11-27T12:34:56Z");
    assertThat(story.state.orElseThrow().message())
        .startsWith("container main: lease L1: ")
        .contains("; container side: lease L2: ")
        .endsWith(
            "; container side: the connection of a program was lost, and may come back until"
                + " 12:34:56Z");
    comeBack("L2");
    assertThat(story.events).endsWith("LeaseGranted", "LeaseDisconnected");
  }

  @Test
  void program_ofAPodThatWaitsForAnotherLeaseLosesItsConnection_podIsStillQueued() {
    beginWithOneOfTwo();
    timers.pass(Duration.ofSeconds(1));
    lose("L1", "2026-11-27T12:34:56Z");
    assertThat(story.state.orElseThrow().reason()).isEqualTo(Reason.QUEUED);
  }

  @Test
  void program_isBackUnderTheNextController_grantIsNotToldAgain() {
    told =
        new PodFacts.Told(
            true,
            "Disconnected",
            "lease L1: ; the connection of a program was lost, and may come back until 12:34:56Z",
            "2026-11-27T12:00:00Z");
    begin(1);
    pool.grant("main");
    assertThat(story.state.orElseThrow().reason()).isEqualTo(Reason.GRANTED);
    assertThat(story.events).isEmpty();
  }

  @Test
  void lease_endsWhileItsProgramIsDisconnected_nextOneIsToldAsGranted() {
    begin(1);
    pool.grant("main");
    lose("L1", "2026-11-27T12:34:56Z");
    pool.end("main");
    timers.pass(Duration.ofMinutes(1));
    pool.grant("main");
    assertThat(story.state.orElseThrow().reason()).isEqualTo(Reason.GRANTED);
    assertThat(story.events)
        .containsExactly("LeaseGranted", "LeaseDisconnected", "LeaseLost", "LeaseGranted");
  }

  /** The rules that are checked with each step are in the pool. */
  @RepeatedTest(50)
  void anyOrderOfEvents_atTheEnd_allIsGivenBack(RepetitionInfo repetition) {
    Random random = new Random(repetition.getCurrentRepetition());
    containers =
        List.of(
            inPod("init", Kind.INIT),
            inPod("serve", Kind.SIDECAR),
            inPod("main", Kind.MAIN),
            inPod("side", Kind.MAIN));
    asked = new LinkedHashMap<>();
    asked.put("init", TestCluster.part(random.nextBoolean() ? "1" : "0.1"));
    asked.put("serve", TestCluster.part("0.25"));
    asked.put("main", TestCluster.part("0.5"));
    asked.put("side", TestCluster.part("0.5"));
    begin(repetition.getCurrentRepetition());
    for (int i = 0; i < 300; i++) {
      step(random);
      story.state.filter(PodState::mayRun).ifPresent(state -> gated = false);
    }
    update(true);
    assertThat(pool.open).as("after its end").isEmpty();
    List.copyOf(pool.releasing.keySet()).forEach(pool::finishRelease);
    assertThat(pod.isAtRest()).isTrue();
    timers.pass(Duration.ofHours(1));
    assertThat(pool.open).as("long after its end").isEmpty();
    assertThat(pool.releasing).isEmpty();
  }

  private void step(Random random) {
    List<String> open = List.copyOf(pool.open.keySet());
    String container = open.isEmpty() ? "" : open.get(random.nextInt(open.size()));
    boolean held =
        pod.claims().stream()
            .anyMatch(
                c -> c.wanted().container().equals(container) && c.state() == PodLease.State.HELD);
    switch (random.nextInt(9)) {
      case 0 -> timers.pass(Duration.ofMillis(random.nextInt(90_000)));
      case 1 -> timers.pass(Duration.ofMillis(random.nextInt(500)));
      case 2 -> pod.releaseHold();
      case 3 -> {
        containers =
            List.of(
                new InPod("init", Kind.INIT, true, false, random.nextInt(3) > 0),
                inPod("serve", Kind.SIDECAR),
                inPod("main", Kind.MAIN),
                inPod("side", Kind.MAIN));
        update(false);
      }
      case 4 -> List.copyOf(pool.releasing.keySet()).forEach(pool::finishRelease);
      case 5 -> {
        if (!open.isEmpty()) {
          pool.lose(container);
        }
      }
      default -> {
        if (open.isEmpty()) {
          update(false);
        } else if (held) {
          if (random.nextInt(4) == 0) {
            pool.end(container);
          }
        } else {
          switch (random.nextInt(5)) {
            case 0 -> {
              if (!pool.leases.containsKey(container)) {
                pool.queue(container, 1 + random.nextInt(9));
              }
            }
            case 1 -> {
              if (!pool.leases.containsKey(container)) {
                pool.refuse(container);
              }
            }
            default -> pool.grant(container);
          }
        }
      }
    }
    assertLiftedOnlyWithAll();
  }

  private void assertLiftedOnlyWithAll() {
    if (gated && story.state.filter(PodState::mayRun).isPresent()) {
      assertThat(story.state.get().leases()).isNotEmpty();
      assertThat(pool.leases.values()).containsAll(story.state.get().leases().values());
    }
  }
}
