// SPDX-License-Identifier: Apache-2.0
package io.gpupool.cli.pool;

import static org.assertj.core.api.Assertions.assertThat;

import io.gpupool.cli.PoolSnapshot;
import io.gpupool.control.v1.GpuInfo;
import io.gpupool.control.v1.Grant;
import io.gpupool.control.v1.GrantUse;
import io.gpupool.control.v1.Holder;
import io.gpupool.control.v1.LeaseClass;
import io.gpupool.control.v1.LeaseInfo;
import io.gpupool.control.v1.QueueInfo;
import io.gpupool.control.v1.SessionInfo;
import java.util.List;
import org.junit.jupiter.api.Test;

class TopCommandTest {
  /** A GPU of which a quarter is leased. */
  private static GpuInfo.Builder gpu() {
    return GpuInfo.newBuilder()
        .setServer("one")
        .setName("GPU")
        .setMemoryBytes(8L << 30)
        .setFreeMemoryBytes(6L << 30)
        .setFreeComputePercent(75);
  }

  @Test
  void gpu_withAPartition_showsItsFreeShareApart() {
    GpuInfo gpu =
        gpu().setFreePartitionMemoryBytes(2L << 30).setFreePartitionComputePercent(25).build();
    PoolSnapshot pool = new PoolSnapshot(List.of(), List.of(gpu), List.of(), List.of(), List.of());
    assertThat(TopCommand.draw(pool, false))
        .containsPattern(
            "8 GiB +4 GiB \\+ 2 GiB in partitions +50% \\+ 25% in partitions +\\[#####");
  }

  @Test
  void top_leases_areDrawnWithHolderAndShare() {
    GpuInfo gpu = gpu().build();
    LeaseInfo lease =
        LeaseInfo.newBuilder()
            .setId("L1")
            .setState(LeaseInfo.State.STATE_HELD)
            .setClass_(LeaseClass.LEASE_CLASS_LATENCY)
            .setHolder(
                Holder.newBuilder().setUser("user").setHost("pc").setPid(7).setProgram("train"))
            .addGrants(
                GrantUse.newBuilder()
                    .setGrant(
                        Grant.newBuilder()
                            .setServer("one")
                            .setMemoryBytes(2L << 30)
                            .setComputePercent(25))
                    .setUsedMemoryBytes(1536L << 20)
                    .setGrantedGpuNanos(90_000_000_000L)
                    .setUsedGpuNanos(7_250_000_000L)
                    .setWaitedNanos(300_000_000_000L)
                    .setThrottledNanos(45_000_000)
                    .setDebtGpuNanos(1_500_000))
            .build();
    SessionInfo session =
        SessionInfo.newBuilder()
            .setLeaseId("L1")
            .setServer("one")
            .setClient(Holder.newBuilder().setPid(8).setProgram("worker"))
            .setGrantedGpuNanos(2_000_000_000L)
            .setGpuNanos(1_000_000_000L)
            .build();

    QueueInfo waiting =
        QueueInfo.newBuilder().setId("Q9").setPosition(1).setWanted("1 GPU at 0.5").build();

    String text =
        TopCommand.draw(
            new PoolSnapshot(
                List.of(), List.of(gpu), List.of(lease), List.of(waiting), List.of(session)),
            true);

    assertThat(text)
        .contains("[#####...............] 25%")
        .contains("L1")
        .contains("2 GiB")
        .contains("1.5 GiB")
        .contains("25% latency, used 0%")
        .contains("user@pc 7 train")
        .containsPattern("LEASE +GPU +GRANTED +USED +WAITED +THROTTLED +DEBT +PROGRAM")
        .containsPattern("L1 +one/0 +90.0s +7.3s +5m +45ms +1.5ms +-")
        .containsPattern("program +one +2.0s +1.0s +0.0ms +0.0ms +0.0ms +8 worker")
        .containsPattern("1 +Q9 .*1 GPU at 0.5");
  }
}
