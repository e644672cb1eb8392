// SPDX-License-Identifier: Apache-2.0
package io.gpupool.cli.server;

import static org.assertj.core.api.Assertions.assertThat;

import io.gpupool.control.v1.DrainedLease;
import io.gpupool.control.v1.ServerInfo;
import org.junit.jupiter.api.Test;

class DrainProgressTest {
  private static ServerInfo server(int leases, DrainedLease.State... states) {
    ServerInfo.Builder server =
        ServerInfo.newBuilder().setState(ServerInfo.State.STATE_DRAINING).setLeases(leases);
    for (DrainedLease.State state : states) {
      server.addDrainedLeases(DrainedLease.newBuilder().setState(state));
    }
    return server.build();
  }

  @Test
  void isUnderWay_whileALeaseMayStillMove() {
    assertThat(DrainProgress.isUnderWay(server(1))).as("not begun yet").isTrue();
    assertThat(
            DrainProgress.isUnderWay(
                server(1, DrainedLease.State.STATE_MOVED, DrainedLease.State.STATE_WAITING)))
        .isTrue();
    assertThat(DrainProgress.isUnderWay(server(1, DrainedLease.State.STATE_MOVING))).isTrue();
    assertThat(
            DrainProgress.isUnderWay(
                server(1, DrainedLease.State.STATE_MOVED, DrainedLease.State.STATE_STAYS)))
        .isFalse();
    assertThat(DrainProgress.isUnderWay(server(0, DrainedLease.State.STATE_MOVED)))
        .as("its GPU is not free yet")
        .isTrue();
  }

  @Test
  void isUnderWay_serverThatIsDrainedOrInServiceAgain_isNot() {
    ServerInfo.Builder server = server(1, DrainedLease.State.STATE_WAITING).toBuilder();
    assertThat(DrainProgress.isUnderWay(server.setState(ServerInfo.State.STATE_READY).build()))
        .isFalse();
    assertThat(DrainProgress.isUnderWay(server.setState(ServerInfo.State.STATE_DRAINED).build()))
        .isFalse();
  }

  @Test
  void line_ofEachState_saysPlaceOrReason() {
    DrainedLease.Builder lease = DrainedLease.newBuilder().setLeaseId("L12");
    assertThat(
            DrainProgress.line(
                lease
                    .setState(DrainedLease.State.STATE_MOVED)
                    .setServer("gpu-3")
                    .setGpu(1)
                    .setPauseMillis(77)
                    .build()))
        .isEqualTo("L12 -> gpu-3/1  pause 77 ms");
    assertThat(
            DrainProgress.line(
                lease.setState(DrainedLease.State.STATE_STAYS).setReason("it is large").build()))
        .isEqualTo("L12 stays: it is large");
    assertThat(DrainProgress.line(lease.setState(DrainedLease.State.STATE_WAITING).build()))
        .isEqualTo("L12 waits: it is large");
  }
}
