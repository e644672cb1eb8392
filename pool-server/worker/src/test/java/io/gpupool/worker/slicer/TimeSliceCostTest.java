// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker.slicer;

import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;
import static org.assertj.core.api.Assertions.assertThat;

import com.sun.management.OperatingSystemMXBean;
import io.gpupool.soft.Dim3;
import io.gpupool.soft.device.SoftGpu;
import io.gpupool.soft.device.context.SoftContext;
import io.gpupool.soft.device.context.SoftStream;
import io.gpupool.soft.device.module.SoftFunction;
import io.gpupool.soft.device.module.SoftModule;
import io.gpupool.soft.device.spec.DeviceSpec;
import io.gpupool.soft.device.spec.LaunchShape;
import io.gpupool.soft.exec.launch.DeviceTime;
import io.gpupool.soft.image.DeviceImage;
import io.gpupool.wire.SchedulePage;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.management.ManagementFactory;
import java.nio.charset.StandardCharsets;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/**
 * The same kernels with time slices and without, one round after the other, of a tenant alone;
 * prints what processor time the time slices cost. {@code -Dgpupool.slices.scale=10} measures.
 */
@Timeout(300)
class TimeSliceCostTest {
  private static final int ROUNDS = 4;
  private static final int SCALE = Integer.getInteger("gpupool.slices.scale", 1);
  private static final String PTX =
      """
      .version 7.0
      .target sm_75
      .address_size 64
      .visible .entry count(.param .u64 target, .param .u32 loops)
      {
        .reg .b64 %rd<2>;
        .reg .b32 %r<4>;
        .reg .pred %p<2>;
        ld.param.u64 %rd1, [target];
        ld.param.u32 %r1, [loops];
        mov.u32 %r2, 1;
      again:
        sub.u32 %r1, %r1, 1;
        setp.ne.u32 %p1, %r1, 0;
        @%p1 bra again;
        red.global.add.u32 [%rd1], %r2;
        ret;
      }
      """;

  private final MemorySegment page = Arena.ofAuto().allocate(SchedulePage.BYTES, 64);
  private final OperatingSystemMXBean process =
      ManagementFactory.getPlatformMXBean(OperatingSystemMXBean.class);

  private record Load(String name, int launches, int blocks, int loops) {}

  @Test
  void slices_ofATenantAlone_costNextToNothing() throws InterruptedException {
    page.set(JAVA_LONG, SchedulePage.LEASES, 1);
    page.set(JAVA_LONG, SchedulePage.leaseWord(0, SchedulePage.SESSIONS), 1);
    page.set(JAVA_LONG, SchedulePage.leaseWord(0, SchedulePage.WEIGHT), 5000);
    GpuTimeSlice slice = new GpuTimeSlice(new SharedSchedule(page), 0, 0);
    try (SoftGpu gpu =
        new SoftGpu(new DeviceSpec(1, 64 << 20, 90), SoftGpu.MissingPtx.FAIL, text -> {})) {
      SoftContext context = new SoftContext(gpu.device(0), 0);
      SoftStream stream = context.createStream(0, 0);
      SoftFunction function =
          SoftModule.load(
                  context,
                  DeviceImage.parse(
                      MemorySegment.ofArray((PTX + "\0").getBytes(StandardCharsets.UTF_8)), 90))
              .function("count");
      long counter = context.allocate(4);
      stream.fill(counter, 0, 0, 4, 1, 1);
      long expected = 0;
      for (Load load :
          new Load[] {
            new Load("tiny kernels", 10_000 * SCALE, 1, 1), new Load("loops", 20 * SCALE, 64, 2_000)
          }) {
        double[] best = {Double.MAX_VALUE, Double.MAX_VALUE};
        // The first two warm up: until both kinds were seen, the code is compiled for one of them.
        for (int round = -2; round < 2 * ROUNDS; round++) {
          gpu.device(0).share(round % 2 == 0 ? DeviceTime.UNSHARED : slice);
          long start = process.getProcessCpuTime();
          for (int i = 0; i < load.launches; i++) {
            function.launch(stream, shape(load.blocks), params(counter, load.loops));
          }
          stream.completion().await();
          double nanos = process.getProcessCpuTime() - start;
          if (round >= 0) {
            best[round % 2] = Math.min(best[round % 2], nanos / load.launches);
          }
          expected += 64L * load.launches * load.blocks;
        }
        System.out.printf(
            "%s: %.0f ns of processor time a launch without time slices, %.0f with: %+.1f %%%n",
            load.name, best[0], best[1], 100 * (best[1] / best[0] - 1));
      }
      int[] counted = new int[1];
      stream
          .read(
              counter,
              4,
              bytes -> MemorySegment.copy(bytes, 0, MemorySegment.ofArray(counted), 0, 4))
          .await();
      assertThat(counted[0]).isEqualTo((int) expected);
      assertThat(slice.usedNanos()).isPositive();
      assertThat(slice.waitedNanos()).isZero();
    }
  }

  private static LaunchShape shape(int blocks) {
    return new LaunchShape(new Dim3(blocks), new Dim3(64), 0, false);
  }

  private static MemorySegment params(long counter, int loops) {
    MemorySegment block = MemorySegment.ofArray(new long[2]);
    block.set(JAVA_LONG, 0, counter);
    block.set(JAVA_INT, 8, loops);
    return block;
  }
}
