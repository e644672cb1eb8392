// SPDX-License-Identifier: Apache-2.0
package io.gpupool.k8s.controller.lease;

import static org.assertj.core.api.Assertions.assertThat;

import io.gpupool.k8s.controller.TestCluster;
import io.gpupool.k8s.controller.pod.PodFacts.InPod;
import io.gpupool.k8s.controller.pod.PodFacts.Kind;
import io.gpupool.k8s.controller.pod.PodState;
import io.gpupool.k8s.controller.pod.PodState.Reason;
import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import org.junit.jupiter.api.RepeatedTest;
import org.junit.jupiter.api.RepetitionInfo;
import org.junit.jupiter.api.Test;

class PodLeasesTest extends PodLeasesFixture {
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
