// SPDX-License-Identifier: Apache-2.0
package io.gpupool.k8s.controller.lease;

import static org.assertj.core.api.Assertions.assertThat;

import io.gpupool.k8s.controller.pod.PodFacts;
import io.gpupool.k8s.controller.pod.PodState;
import io.gpupool.k8s.controller.pod.PodState.Reason;
import java.time.Duration;
import java.time.Instant;
import org.junit.jupiter.api.Test;

/** Conditions and events of pods whose programs have lost their connections. */
class DisconnectedPodTest extends PodLeasesFixture {
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
}
