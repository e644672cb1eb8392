// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.health;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.gpupool.server.capacity.Capacity;
import io.gpupool.server.control.ManualTimers;
import io.gpupool.server.gpu.Gpu;
import io.gpupool.server.gpu.GpuModel;
import io.gpupool.server.placement.Placement;
import io.gpupool.server.records.GpuFault;
import io.gpupool.server.records.RecordTypes;
import io.gpupool.server.state.LocalStore;
import io.gpupool.server.state.RecordStore;
import io.gpupool.server.state.StateException;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.ConcurrentLinkedQueue;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

class GpuHealthTest {
  private static final Gpu FIRST =
      new Gpu("here", 0, "GPU-a", new GpuModel("Test GPU", 8L << 30, "9.0", 13000));
  private static final Gpu SECOND =
      new Gpu("here", 1, "GPU-b", new GpuModel("Test GPU", 8L << 30, "9.0", 13000));

  private final ManualTimers timers = new ManualTimers();
  private final RecordStore records;
  private final Capacity capacity;
  private final ConcurrentLinkedQueue<Runnable> later = new ConcurrentLinkedQueue<>();
  private @Nullable String verdict;
  private final GpuHealth health;

  GpuHealthTest() throws StateException {
    records = new RecordStore(LocalStore.inMemory(), RecordTypes.ALL);
    capacity = new Capacity(List.of(FIRST, SECOND), records);
    health =
        new GpuHealth(
            List.of(FIRST, SECOND),
            uuid -> Optional.ofNullable(verdict),
            records,
            timers,
            later::add);
  }

  @Test
  void fault_ofOneGpu_leavesNothingOfItToBeGranted() {
    onReading("fault uuid=gpu-A xid=79");

    assertThat(capacity.ailment(FIRST).map(GpuFault::problem))
        .hasValue("XID 79: the GPU has fallen off the bus");
    assertThat(capacity.free(FIRST).memoryBytes()).isZero();
    assertThat(capacity.snapshot())
        .filteredOn(offer -> offer.free().memoryBytes() > 0)
        .extracting(Placement.Offer::gpu)
        .containsExactly(SECOND);
  }

  @Test
  void faults_ofTheGpuItself_areCountedAndTheLastKept() {
    onReading("fault uuid=GPU-a xid=31");
    assertThat(health.faults(FIRST)).isEqualTo(new Faults(0, List.of()));

    for (int xid : new int[] {94, 48, 0, 79, 79, 62, 61, 95, 74}) {
      onReading("fault uuid=gpu-A xid=" + xid);
    }

    assertThat(health.faults(FIRST))
        .isEqualTo(new Faults(9, List.of(48, 0, 79, 79, 62, 61, 95, 74)));
    assertThat(health.faults(SECOND).count()).isZero();
  }

  @Test
  void rested_andTrialPassed_isGrantedAgain() {
    health.start();
    onReading("sample uuid=GPU-a condition=ok");
    onReading("fault uuid=GPU-a xid=79");

    verdict = "a trial failed: no";
    afterTrial(GpuCondition.REST_MILLIS);
    assertThat(capacity.ailment(FIRST).map(GpuFault::problem)).hasValue("a trial failed: no");

    verdict = null;
    afterTrial(2 * GpuCondition.REST_MILLIS);
    assertThat(capacity.ailment(FIRST)).isEmpty();
    assertThat(capacity.free(FIRST).memoryBytes()).isEqualTo(8L << 30);
  }

  @Test
  void linesThatAreNone_andOtherGpus_areNotHeard() {
    assertThat(Reading.parse("Warning: something")).isEmpty();
    assertThat(Reading.parse("fault xid=79")).isEmpty();
    onReading("fault uuid=GPU-c xid=79");

    assertThat(records.all(RecordTypes.GPU_FAULTS)).isEmpty();
  }

  private void onReading(String line) {
    health.onReading(Reading.parse(line).orElseThrow());
  }

  /** Lets this time and a little more pass, and one trial. */
  private void afterTrial(long millis) {
    timers.pass(millis + 1000);
    await().until(() -> !later.isEmpty());
    later.remove().run();
  }
}
