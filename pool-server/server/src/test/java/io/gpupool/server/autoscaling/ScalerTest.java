// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.autoscaling;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

class ScalerTest {
  private static final ScalingPolicy POLICY = ScalingPolicy.of(Map.of("gpusPerServer", "4"));
  private static final long LONG_MILLIS = POLICY.delays().scaleInMillis();

  @Test
  void next_requestHasWaited_addsWholeServersForIt() {
    PoolLoad load = load(servers(0, 0), demand(4.5, 10_000), demand(1, 10_000));
    assertThat(next(2, load).servers()).isEqualTo(2 + 2);
    // While they start, they are not wanted twice.
    assertThat(next(4, load).servers()).isEqualTo(4);
  }

  @Test
  void next_requestHasJustCome_addsNothingAndGivesNothingBack() {
    PoolLoad load = load(servers(0, LONG_MILLIS), demand(1, 9_999));
    assertThat(next(2, load).servers()).isEqualTo(2);
  }

  @Test
  void next_lastServersIdleForLong_givesThemBackUpToTheLastWithALease() {
    long idle = LONG_MILLIS;
    assertThat(next(5, load(servers(idle, 0, idle, idle, idle))).servers()).isEqualTo(2);
    assertThat(next(5, load(servers(idle, 0, idle - 1, idle, idle))).servers()).isEqualTo(3);
    assertThat(next(5, load(servers(idle, idle, idle, idle, 0))).servers()).isEqualTo(5);
    assertThat(next(5, load(servers(idle, idle, idle, idle, idle))).servers()).isZero();
  }

  @Test
  void next_numbersOfSeveralDigits_areInTheirOrder() {
    List<ServerLoad> servers = new ArrayList<>();
    for (int i = 0; i < 12; i++) {
      servers.add(new ServerLoad("gpu-" + i, 4, i == 9 ? 0 : LONG_MILLIS, true));
    }
    assertThat(next(12, new PoolLoad(servers, List.of())).servers()).isEqualTo(10);
  }

  @Test
  void next_changedLately_waitsForTheCoolDown() {
    PoolLoad idle = load(servers(0, LONG_MILLIS));
    ScalingTarget before = new ScalingTarget(2, 1_000_000);
    long soon = 1_000_000 + POLICY.delays().coolDownMillis() - 1;
    assertThat(Scaler.next(before, idle, POLICY, soon)).isEqualTo(before);
    assertThat(Scaler.next(before, idle, POLICY, soon + 1))
        .isEqualTo(new ScalingTarget(1, soon + 1));
  }

  @Test
  void next_drainedServerAtTheEnd_goesWithoutDelay() {
    List<ServerLoad> servers =
        List.of(new ServerLoad("a-0", 4, 0, true), new ServerLoad("a-1", 4, 1, false));
    assertThat(next(2, new PoolLoad(servers, List.of())).servers()).isEqualTo(1);
  }

  @Test
  void next_headroom_isKeptAndMadeUpFor() {
    ScalingPolicy policy = ScalingPolicy.of(Map.of("gpusPerServer", "4", "headroomGpus", "6"));
    long idle = LONG_MILLIS;
    assertThat(next(2, load(servers(0, 0)), policy).servers()).isEqualTo(4);
    assertThat(next(5, load(servers(0, idle, idle, idle, idle)), policy).servers()).isEqualTo(3);
  }

  @Test
  void next_maximumBelowWhatIsLeased_takesNothingFromALease() {
    ScalingPolicy policy = ScalingPolicy.of(Map.of("maxServers", "1"));
    assertThat(next(3, load(servers(0, 0, LONG_MILLIS)), policy).servers()).isEqualTo(2);
  }

  @Test
  void next_otherModelsAndOtherServers_doNotCount() {
    ScalingPolicy policy =
        ScalingPolicy.of(Map.of("model", "H200", "servers", "gpu-", "gpusPerServer", "1"));
    PoolLoad load =
        new PoolLoad(
            List.of(new ServerLoad("gpu-0", 1, 0, true), new ServerLoad("cpu-0", 1, 0, true)),
            List.of(new PendingRequest(3, "A100", 60_000), new PendingRequest(1, "h200", 60_000)));
    assertThat(next(1, load, policy).servers()).isEqualTo(2);
  }

  @Test
  void policy_ofWrongMetadata_saysWhatIs() {
    assertThatThrownBy(() -> ScalingPolicy.of(Map.of("cooldown", "5")))
        .hasMessageContaining("'cooldown' is not known")
        .hasMessageContaining("coolDownSeconds");
    assertThatThrownBy(() -> ScalingPolicy.of(Map.of("maxServers", "-1")))
        .hasMessageContaining("maxServers is '-1'");
    assertThatThrownBy(() -> ScalingPolicy.of(Map.of("maxServers", "1", "minServers", "2")))
        .hasMessageContaining("minServers is 2");
  }

  private static ScalingTarget next(int before, PoolLoad load) {
    return next(before, load, POLICY);
  }

  private static ScalingTarget next(int before, PoolLoad load, ScalingPolicy policy) {
    return Scaler.next(new ScalingTarget(before, 0), load, policy, 100_000_000);
  }

  private static PoolLoad load(List<ServerLoad> servers, PendingRequest... waiting) {
    return new PoolLoad(servers, List.of(waiting));
  }

  private static List<ServerLoad> servers(long... idleMillis) {
    List<ServerLoad> servers = new ArrayList<>();
    for (int i = 0; i < idleMillis.length; i++) {
      servers.add(new ServerLoad("gpu-" + i, 4, idleMillis[i], true));
    }
    return servers;
  }

  private static PendingRequest demand(double gpus, long waitedMillis) {
    return new PendingRequest(gpus, "", waitedMillis);
  }
}
