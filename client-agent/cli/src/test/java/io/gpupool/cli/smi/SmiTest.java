// SPDX-License-Identifier: Apache-2.0
package io.gpupool.cli.smi;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.gpupool.cli.PoolSnapshot;
import io.gpupool.control.v1.GpuInfo;
import io.gpupool.control.v1.Grant;
import io.gpupool.control.v1.GrantUse;
import io.gpupool.control.v1.Holder;
import io.gpupool.control.v1.LeaseInfo;
import io.gpupool.control.v1.SessionInfo;
import java.util.List;
import org.junit.jupiter.api.Test;

class SmiTest {
  private static final List<SmiGpu> GPUS = SmiGpu.of(pool());

  @Test
  void pool_gpuOfTwoLeases_showsWhatBothUse() {
    assertThat(GPUS).hasSize(1);
    SmiGpu gpu = GPUS.getFirst();
    assertThat(gpu.usedBytes()).isEqualTo(3L << 30);
    assertThat(gpu.utilization()).isEqualTo(35);
    assertThat(gpu.busId()).isEqualTo("00000000:3B:00.0");
    assertThat(gpu.processes())
        .containsExactly(
            new SmiGpu.Process(7, "train", 1L << 30), new SmiGpu.Process(7, "train", 1L << 30));
  }

  @Test
  void queryGpu_fields_areTheCsvOfNvidiasTool() {
    String fields = "index, name,memory.used,utilization.gpu,temperature.gpu,driver_version";

    assertThat(SmiFields.gpus(GPUS, fields, "csv"))
        .isEqualTo(
            """
            index, name, memory.used [MiB], utilization.gpu [%], temperature.gpu, driver_version
            0, NVIDIA H100, 3072 MiB, 35 %, [N/A], 580.65.06
            """);
    assertThat(SmiFields.gpus(GPUS, fields, "csv,noheader,nounits"))
        .isEqualTo("0, NVIDIA H100, 3072, 35, [N/A], 580.65.06\n");
  }

  @Test
  void queryGpu_sensors_areInTheirUnits() {
    String fields =
        "temperature.gpu,power.draw,power.limit,fan.speed,pstate,clocks.sm,"
            + "ecc.errors.uncorrected.volatile.total";

    assertThat(SmiFields.gpus(List.of(measured()), fields, "csv"))
        .isEqualTo(
            """
            temperature.gpu, power.draw [W], power.limit [W], fan.speed [%], pstate, clocks.sm [MHz], \
            ecc.errors.uncorrected.volatile.total
            41, 71.25 W, 700.00 W, [N/A], P0, 1965 MHz, 2
            """);
    assertThat(SmiFields.gpus(List.of(measured()), "power.draw,fan.speed", "csv,noheader,nounits"))
        .isEqualTo("71.25, [N/A]\n");
  }

  @Test
  void overview_sensors_standWhereNvidiasToolHasThem() {
    String text = SmiTable.overview(List.of(measured()), "0.1.0");

    assertThat(text)
        .contains("| N/A   41C    P0              71W / 700W |", " Off |                    2 |");
    assertThat(text.lines().skip(1).filter(line -> !line.isEmpty()))
        .allSatisfy(line -> assertThat(line).hasSize(91));
    assertThat(SmiTable.details(List.of(measured()))).contains(": 71.25 W", ": 1965 MHz", ": 41");
  }

  /** The GPU of the pool, with what its card measures. */
  private static SmiGpu measured() {
    PoolSnapshot pool = pool();
    GpuInfo gpu =
        pool.gpus().getFirst().toBuilder()
            .setTemperatureCelsius(41)
            .setPowerMilliwatts(71250)
            .setPowerLimitMilliwatts(700000)
            .setPerformanceState(0)
            .setSmMegahertz(1965)
            .setUncorrectedErrors(2)
            .build();
    return SmiGpu.of(
            new PoolSnapshot(
                pool.servers(), List.of(gpu), pool.leases(), pool.queue(), pool.sessions()))
        .getFirst();
  }

  @Test
  void queryComputeApps_fields_areOneLineAProgram() {
    assertThat(SmiFields.apps(GPUS, "pid,process_name,used_memory", "csv,noheader"))
        .isEqualTo("7, train, 1024 MiB\n7, train, 1024 MiB\n");
  }

  @Test
  void query_whatIsNoFieldOrForm_isNamed() {
    assertThatThrownBy(() -> SmiFields.gpus(GPUS, "index,colour", "csv"))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessageContaining("'colour'")
        .hasMessageContaining("memory.used");
    assertThatThrownBy(() -> SmiFields.gpus(GPUS, "index", "xml"))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessageContaining("csv[,noheader][,nounits]");
  }

  @Test
  void overview_everyLine_isAsWideAsTheOthers() {
    String text = SmiTable.overview(GPUS, "0.1.0");

    assertThat(text.lines().skip(1).filter(line -> !line.isEmpty()))
        .allSatisfy(line -> assertThat(line).hasSize(91));
    assertThat(text)
        .contains("Driver Version: 580.65.06", "CUDA Version: 13.0", "3072MiB /  81920MiB", "35%")
        .containsPattern("0   N/A  N/A +7      C   train +1024MiB");
  }

  @Test
  void list_oneGpu_isOneLine() {
    assertThat(SmiTable.list(GPUS)).isEqualTo("GPU 0: NVIDIA H100 (UUID: GPU-1)\n");
    assertThat(SmiTable.details(GPUS)).contains("Attached GPUs", ": 81920 MiB", "Used GPU Memory");
  }

  private static PoolSnapshot pool() {
    GpuInfo gpu =
        GpuInfo.newBuilder()
            .setServer("one")
            .setName("NVIDIA H100")
            .setUuid("GPU-1")
            .setPciBusId("0000:3b:00.0")
            .setDriverVersion(13000)
            .setDriver("580.65.06")
            .setMemoryBytes(80L << 30)
            .build();
    LeaseInfo.Builder lease =
        LeaseInfo.newBuilder()
            .addGrants(
                GrantUse.newBuilder()
                    .setGrant(Grant.newBuilder().setServer("one"))
                    .setUsedMemoryBytes(3L << 29)
                    .setUsedComputePercent(17.5));
    SessionInfo.Builder session =
        SessionInfo.newBuilder()
            .setClient(Holder.newBuilder().setPid(7).setProgram("train"))
            .addUsedMemoryBytes(1L << 30);
    return new PoolSnapshot(
        List.of(),
        List.of(gpu),
        List.of(lease.setId("L1").build(), lease.setId("L2").build()),
        List.of(),
        List.of(session.setLeaseId("L1").build(), session.setLeaseId("L2").build()));
  }
}
