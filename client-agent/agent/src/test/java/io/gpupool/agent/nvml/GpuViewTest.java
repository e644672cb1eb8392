// SPDX-License-Identifier: Apache-2.0
package io.gpupool.agent.nvml;

import static org.assertj.core.api.Assertions.assertThat;

import io.gpupool.control.v1.DescribeLeaseReply;
import io.gpupool.control.v1.GpuInfo;
import io.gpupool.control.v1.Grant;
import io.gpupool.control.v1.GrantUse;
import io.gpupool.control.v1.Holder;
import io.gpupool.control.v1.LeaseInfo;
import io.gpupool.control.v1.SessionInfo;
import io.gpupool.wire.TextMessage;
import org.junit.jupiter.api.Test;

class GpuViewTest {
  @Test
  void lease_gpusOfSeveralDrivers_hasTheOldest() {
    TextMessage lease =
        GpuView.lease(
            lease(
                GpuInfo.newBuilder().setDriverVersion(13000).setDriver("580.65.06"),
                GpuInfo.newBuilder().setDriverVersion(12080).setDriver("570.86.15")),
            null);

    assertThat(lease.fields())
        .containsEntry("gpus", "2")
        .containsEntry("cuda", "12080")
        .containsEntry("driver", "570.86.15")
        .doesNotContainKey("ticket");
  }

  @Test
  void driver_thatDoesNotSay_isTheFirstWithItsCudaVersion() {
    assertThat(DriverName.of(GpuInfo.newBuilder().setDriverVersion(13000).build()))
        .isEqualTo("580.00");
    assertThat(DriverName.of(GpuInfo.newBuilder().setDriverVersion(12025).build()))
        .isEqualTo("535.00");
    assertThat(DriverName.of(GpuInfo.getDefaultInstance())).isEqualTo("520.00");
  }

  @Test
  void gpu_programsOfThisMachine_areListedOnceWithWhatTheyUseThere() {
    DescribeLeaseReply lease =
        lease(GpuInfo.newBuilder(), GpuInfo.newBuilder().setPciBusId("0000:01:00.0")).toBuilder()
            .addSessions(session("here", 7, 10, 1))
            .addSessions(session("here", 7, 0, 2))
            .addSessions(session("elsewhere", 8, 5, 5))
            .build();

    assertThat(GpuView.gpu(lease, 1, "here").fields())
        .containsEntry("pci", "0000:01:00.0")
        .containsEntry("memory", "100")
        .containsEntry("used", "40")
        .containsEntry("compute", "2550")
        .containsEntry("busy", "1225")
        .containsEntry("processes", "1")
        .containsEntry("process.0", "7 3 train");
  }

  @Test
  void gpu_whatItsCardMeasures_isToldAsFarAsItDoes() {
    DescribeLeaseReply lease =
        lease(
            GpuInfo.newBuilder()
                .setTemperatureCelsius(0)
                .setSmMegahertz(1965)
                .setUncorrectedErrors(1L << 32)
                .setFaults(9)
                .addLastFaults(79)
                .addLastFaults(0));

    assertThat(GpuView.gpu(lease, 0, "here").fields())
        .containsEntry("temperature", "0")
        .containsEntry("sm_now", "1965")
        .containsEntry("uncorrected", "4294967296")
        .containsEntry("faults", "9")
        .containsEntry("last_faults", "79 0")
        .doesNotContainKeys("power", "power_limit", "fan", "performance", "corrected");
  }

  @Test
  void gpu_reachesOthersOfItsServer_areToldAsTheLeaseCounts() {
    DescribeLeaseReply.Builder lease = DescribeLeaseReply.newBuilder();
    String[][] gpus = {{"a", "GPU-0"}, {"b", "GPU-1"}, {"a", "GPU-1"}, {"a", "GPU-2"}};
    for (String[] gpu : gpus) {
      Grant.Builder grant = Grant.newBuilder().setServer(gpu[0]).setGpuUuid(gpu[1]);
      lease.getLeaseBuilder().addGrants(GrantUse.newBuilder().setGrant(grant));
    }
    lease.addGpus(GpuInfo.newBuilder().setServer("a").addPeers("GPU-1").addPeers("GPU-2"));

    assertThat(GpuView.gpu(lease.build(), 0, "here").fields()).containsEntry("peers", "2 3");
    assertThat(GpuView.gpu(lease.build(), 1, "here").fields()).containsEntry("peers", "");
  }

  @Test
  void gpu_ofAServerAmongSeveral_countsTheSessionThere() {
    LeaseInfo.Builder lease = LeaseInfo.newBuilder();
    for (String server : new String[] {"a", "b", "a", "b"}) {
      lease.addGrants(GrantUse.newBuilder().setGrant(Grant.newBuilder().setServer(server)));
    }
    SessionInfo atB = session("here", 7, 10, 20).toBuilder().setServer("b").build();

    assertThat(SessionUse.bytes(lease.build(), atB, 0)).isZero();
    assertThat(SessionUse.bytes(lease.build(), atB, 1)).isEqualTo(10);
    assertThat(SessionUse.bytes(lease.build(), atB, 2)).isZero();
    assertThat(SessionUse.bytes(lease.build(), atB, 3)).isEqualTo(20);
  }

  @Test
  void gpu_manyProgramsWithLongNames_fitsIntoAMessage() {
    DescribeLeaseReply.Builder lease = lease(GpuInfo.newBuilder()).toBuilder();
    for (int pid = 1; pid <= 64; pid++) {
      lease.addSessions(
          session("here", 1_000_000 + pid, Long.MAX_VALUE).toBuilder()
              .setClient(
                  Holder.newBuilder().setHost("here").setPid(pid).setProgram("x".repeat(255))));
    }

    assertThat(GpuView.gpu(lease.build(), 0, "here").encode().length)
        .isLessThan(TextMessage.MAX_TEXT_BYTES / 2);
  }

  private static DescribeLeaseReply lease(GpuInfo.Builder... gpus) {
    DescribeLeaseReply.Builder reply = DescribeLeaseReply.newBuilder();
    LeaseInfo.Builder lease = LeaseInfo.newBuilder().setId("L1");
    for (GpuInfo.Builder gpu : gpus) {
      reply.addGpus(gpu);
      lease.addGrants(
          GrantUse.newBuilder()
              .setGrant(Grant.newBuilder().setMemoryBytes(100).setComputePercent(25.5))
              .setUsedMemoryBytes(40)
              .setUsedComputePercent(12.25));
    }
    return reply.setLease(lease).build();
  }

  private static SessionInfo session(String host, int pid, long... usedBytes) {
    SessionInfo.Builder session =
        SessionInfo.newBuilder()
            .setClient(Holder.newBuilder().setHost(host).setPid(pid).setProgram("train"));
    for (long bytes : usedBytes) {
      session.addUsedMemoryBytes(bytes);
    }
    return session.build();
  }
}
