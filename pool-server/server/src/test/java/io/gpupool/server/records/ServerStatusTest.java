// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.records;

import static org.assertj.core.api.Assertions.assertThat;

import io.gpupool.control.v1.Grant;
import io.gpupool.control.v1.GrantUse;
import io.gpupool.control.v1.LeaseInfo;
import io.gpupool.control.v1.ServerInfo;
import io.gpupool.control.v1.SessionInfo;
import java.util.List;
import org.junit.jupiter.api.Test;

class ServerStatusTest {
  private static final long SECOND = 1_000_000_000;

  private static ServerStatus status(long atMillis, long grantedNanos, long usedNanos) {
    return new ServerStatus(
        atMillis,
        ServerInfo.getDefaultInstance(),
        List.of(
            LeaseInfo.newBuilder()
                .setAgeMillis(atMillis)
                .addGrants(
                    GrantUse.newBuilder()
                        .setGrantedGpuNanos(grantedNanos)
                        .setUsedGpuNanos(usedNanos))
                .build()),
        List.of(
            SessionInfo.newBuilder()
                .setAgeMillis(atMillis)
                .setGrantedGpuNanos(grantedNanos)
                .build()));
  }

  @Test
  void withoutAges_whatOnlyGrewOlder_isNoNews() {
    assertThat(status(9000, 9, 5).withoutAges()).isEqualTo(status(1000, 1, 5).withoutAges());
    assertThat(status(9000, 9, 6).withoutAges()).isNotEqualTo(status(1000, 1, 5).withoutAges());
  }

  @Test
  void at_aLaterTime_leavesTheSessionLessOfItsResumeWindow() {
    assertThat(resumeMillisLeft(3000)).isEqualTo(8000);
    assertThat(resumeMillisLeft(60_000)).isZero();
    assertThat(disconnected().withoutAges())
        .as("less of it is no news")
        .isEqualTo(disconnected().at(3000).withoutAges());
  }

  private static long resumeMillisLeft(long atMillis) {
    return disconnected().at(atMillis).sessions().getFirst().getResumeMillisLeft();
  }

  private static ServerStatus disconnected() {
    return new ServerStatus(
        1000,
        ServerInfo.getDefaultInstance(),
        List.of(),
        List.of(SessionInfo.newBuilder().setResumeMillisLeft(10_000).build()));
  }

  @Test
  void at_aLaterTime_grantsTheLeaseItsShareOfTheTime() {
    LeaseInfo lease =
        LeaseInfo.newBuilder()
            .addGrants(
                GrantUse.newBuilder()
                    .setGrant(Grant.newBuilder().setComputePercent(25))
                    .setGrantedGpuNanos(7 * SECOND))
            .build();
    ServerStatus told =
        new ServerStatus(1000, ServerInfo.getDefaultInstance(), List.of(lease), List.of());
    assertThat(told.at(3000).leases().getFirst().getGrants(0).getGrantedGpuNanos())
        .isEqualTo(7 * SECOND + SECOND / 2);
  }

  @Test
  void at_aLaterTime_grantsTheSessionMoreInProportion() {
    SessionInfo later = status(1000, SECOND / 4, 0).at(3000).sessions().getFirst();
    assertThat(later.getAgeMillis()).isEqualTo(3000);
    assertThat(later.getGrantedGpuNanos()).isEqualTo(SECOND * 3 / 4);
  }
}
