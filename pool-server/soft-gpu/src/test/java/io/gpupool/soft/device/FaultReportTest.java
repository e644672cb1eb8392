// SPDX-License-Identifier: Apache-2.0
package io.gpupool.soft.device;

import static io.gpupool.soft.device.TestGpu.assertStatus;
import static org.assertj.core.api.Assertions.assertThat;

import io.gpupool.soft.CudaStatus;
import io.gpupool.soft.Dim3;
import io.gpupool.soft.device.context.SoftContext;
import io.gpupool.soft.device.context.SoftStream;
import io.gpupool.soft.device.module.SoftModule;
import io.gpupool.soft.device.spec.DeviceSpec;
import io.gpupool.soft.device.spec.LaunchShape;
import io.gpupool.soft.exec.launch.PrintfSink;
import io.gpupool.soft.image.DeviceImage;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.charset.StandardCharsets;
import java.util.function.ToLongFunction;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** What is told of a fault: where in the code, by whom, and what lies at the address. */
@Timeout(60)
final class FaultReportTest {
  private static final String PTX =
      """
      .version 8.0
      .target sm_75
      .address_size 64
      .visible .entry poke(.param .u64 target)
      {
        .reg .b64 %rd<2>;
        .loc 1 41 3
        ld.param.u64 %rd1, [target];
        .loc 1 42 5
        st.global.u32 [%rd1], 7;
        ret;
      }
      // Thread 37 of 16 x 4 alone touches what it may not: before a barrier, behind one, and behind
      // one to which the threads of its warp came on different ways.
      .visible .entry pokeByOne(.param .u64 target, .param .u32 way)
      {
        .reg .pred %p<6>;
        .reg .b32 %r<8>;
        .reg .b64 %rd<2>;
        ld.param.u64 %rd1, [target];
        ld.param.u32 %r1, [way];
        mov.u32 %r2, %tid.x;
        mov.u32 %r3, %tid.y;
        mad.lo.u32 %r4, %r3, 16, %r2;
        setp.eq.u32 %p1, %r4, 37;
        setp.eq.and.u32 %p2, %r1, 0, %p1;
        @%p2 st.global.u32 [%rd1], 7;
        setp.ne.u32 %p3, %r1, 2;
        @%p3 bra MEET;
        and.b32 %r5, %r4, 1;
        setp.eq.u32 %p4, %r5, 0;
        @%p4 bra MEET;
        bar.warp.sync 0xAAAAAAAA;
      MEET:
        bar.sync 0;
        @%p1 st.global.u32 [%rd1], 7;
        ret;
      }
      .visible .entry pokeStraight(.param .u64 target)
      {
        .reg .pred %p<2>;
        .reg .b32 %r<4>;
        .reg .b64 %rd<2>;
        ld.param.u64 %rd1, [target];
        mov.u32 %r2, %tid.x;
        setp.eq.u32 %p1, %r2, 5;
        @%p1 st.global.u32 [%rd1], 7;
        ret;
      }
      .file 1 "/src/poke.cu"
      """;

  private final StringBuilder reports = new StringBuilder();
  private final SoftGpu gpu =
      new SoftGpu(
          new DeviceSpec(1, TestGpu.MEMORY_BYTES, 90), SoftGpu.MissingPtx.FAIL, new Reports());

  private final class Reports implements PrintfSink {
    @Override
    public void print(byte[] text) {}

    @Override
    public void print(Stream stream, byte[] text) {
      if (stream == Stream.REPORT) {
        reports.append(new String(text, StandardCharsets.UTF_8));
      }
    }
  }

  private String reportOf(ToLongFunction<SoftContext> target, CudaStatus status)
      throws InterruptedException {
    return reportOf(target, status, "poke", new LaunchShape(new Dim3(1), new Dim3(1), 0, false), 0);
  }

  private String reportOf(
      ToLongFunction<SoftContext> target,
      CudaStatus status,
      String kernel,
      LaunchShape shape,
      int way)
      throws InterruptedException {
    try (SoftGpu closed = gpu) {
      SoftContext context = new SoftContext(closed.device(0), 0);
      SoftModule module =
          SoftModule.load(
              context,
              DeviceImage.parse(MemorySegment.ofArray(PTX.getBytes(StandardCharsets.UTF_8)), 90));
      SoftStream stream = context.createStream(0, 0);
      MemorySegment params = MemorySegment.ofArray(new long[2]);
      params.set(ValueLayout.JAVA_LONG_UNALIGNED, 0, target.applyAsLong(context));
      params.set(ValueLayout.JAVA_INT_UNALIGNED, 8, way);
      module.function(kernel).launch(stream, shape, params).await();
      assertStatus(context::requireUsable, status);
      return reports.toString();
    }
  }

  @Test
  void access_behindAnAllocation_isReportedWithSourceAndAllocation() throws Exception {
    String report = reportOf(context -> context.allocate(512) + 512, CudaStatus.ILLEGAL_ADDRESS);

    assertThat(report)
        .contains("in kernel poke at line 10 of its PTX")
        .contains("made from /src/poke.cu:42")
        .contains("by block (0,0,0), thread (0,0,0)")
        .contains("0 bytes behind the allocation of 512 bytes at 0x");
  }

  @Test
  void access_toFreedMemory_isReportedAsSuch() throws Exception {
    String report =
        reportOf(
            context -> {
              long address = context.allocate(2048);
              context.free(address);
              return address + 16;
            },
            CudaStatus.ILLEGAL_ADDRESS);

    assertThat(report).contains("16 bytes into memory at 0x").contains("that was freed");
  }

  @Test
  void access_misaligned_isReportedWithTheAllocationItIsIn() throws Exception {
    String report = reportOf(context -> context.allocate(64) + 6, CudaStatus.MISALIGNED_ADDRESS);

    assertThat(report)
        .contains("MISALIGNED_ADDRESS")
        .contains("6 bytes into the allocation of 64 bytes");
  }

  @ParameterizedTest
  @ValueSource(ints = {0, 1, 2})
  void access_byOneThreadOfMany_isReportedAsThatThreads(int way) throws Exception {
    String report =
        reportOf(
            context -> 4096,
            CudaStatus.ILLEGAL_ADDRESS,
            "pokeByOne",
            new LaunchShape(new Dim3(1), new Dim3(16, 4), 0, false),
            way);

    assertThat(report).contains("by block (0,0,0), thread (5,2,0)");
  }

  @Test
  void access_byOneThreadOfAKernelWithoutWaits_isReportedAsThatThreads() throws Exception {
    String report =
        reportOf(
            context -> 4096,
            CudaStatus.ILLEGAL_ADDRESS,
            "pokeStraight",
            new LaunchShape(new Dim3(3), new Dim3(64), 0, false),
            0);

    assertThat(report).contains(",0,0), thread (5,0,0)");
  }
}
