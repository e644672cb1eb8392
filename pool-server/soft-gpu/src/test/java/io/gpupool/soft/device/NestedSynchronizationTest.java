// SPDX-License-Identifier: Apache-2.0
package io.gpupool.soft.device;

import static io.gpupool.soft.device.TestGpu.assertStatus;
import static io.gpupool.soft.device.TestGpu.readBytes;
import static org.assertj.core.api.Assertions.assertThat;

import io.gpupool.soft.CudaStatus;
import io.gpupool.soft.Dim3;
import io.gpupool.soft.device.context.SoftContext;
import io.gpupool.soft.device.context.SoftStream;
import io.gpupool.soft.device.module.SoftModule;
import io.gpupool.soft.device.spec.DeviceSpec;
import io.gpupool.soft.device.spec.LaunchShape;
import io.gpupool.soft.image.DeviceImage;
import java.lang.foreign.MemorySegment;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Kernels that wait for the kernels that they launched. */
@Timeout(60)
final class NestedSynchronizationTest {
  private static final String KERNELS =
      """
      .version 8.0
      .target sm_70
      .address_size 64
      .extern .func (.param .b64 r) cudaGetParameterBuffer(.param .b64 align, .param .b64 bytes);
      .extern .func (.param .b32 r) cudaLaunchDevice(.param .b64 f, .param .b64 buffer,
        .param .align 4 .b8 grid[12], .param .align 4 .b8 block[12], .param .b32 shared,
        .param .b64 stream);
      .extern .func (.param .b32 r) cudaDeviceSynchronize();
      .visible .entry twice(.param .u64 at)
      {
        .reg .b64 %at;
        .reg .b32 %v;
        ld.param.u64 %at, [at];
        ld.global.u32 %v, [%at];
        add.u32 %v, %v, %v;
        st.global.u32 [%at], %v;
        ret;
      }
      .visible .entry waits(.param .u64 at)
      {
        .reg .b64 %at, %buffer, %f;
        .reg .b32 %v, %e;
        .reg .pred %p;
        ld.param.u64 %at, [at];
        mov.u32 %v, 3;
        .param .align 4 .b8 one[12];
        st.param.b32 [one], 1;
        st.param.b32 [one+4], 1;
        st.param.b32 [one+8], 1;
        mov.u64 %f, twice;
      again:
        st.global.u32 [%at], %v;
        call.uni (%buffer), cudaGetParameterBuffer, (64, 8);
        st.u64 [%buffer], %at;
        call.uni (%e), cudaLaunchDevice, (%f, %buffer, one, one, 0, 0);
        call.uni (%e), cudaDeviceSynchronize, ();
        ld.global.u32 %v, [%at];
        add.u32 %v, %v, 1;
        setp.lt.u32 %p, %v, 100;
        @%p bra again;
        ret;
      }
      .visible .entry count(.param .u64 at)
      {
        .reg .b64 %at;
        ld.param.u64 %at, [at];
        red.global.add.u32 [%at], 1;
        ret;
      }
      // Launches a kernel of one thread.
      .func launch(.param .b64 function, .param .b64 at)
      {
        .reg .b64 %at, %buffer, %f;
        .reg .b32 %e;
        ld.param.b64 %f, [function];
        ld.param.b64 %at, [at];
        .param .align 4 .b8 one[12];
        st.param.b32 [one], 1;
        st.param.b32 [one+4], 1;
        st.param.b32 [one+8], 1;
        call.uni (%buffer), cudaGetParameterBuffer, (64, 8);
        st.u64 [%buffer], %at;
        call.uni (%e), cudaLaunchDevice, (%f, %buffer, one, one, 0, 0);
        ret;
      }
      // Waits until 128 of its kind run, as many as may, and then for a kernel of its own.
      .visible .entry parent(.param .u64 at)
      {
        .reg .b64 %at, %f;
        .reg .b32 %e, %n;
        .reg .pred %p;
        ld.param.u64 %at, [at];
        red.global.add.u32 [%at+4], 1;
      few:
        ld.volatile.global.u32 %n, [%at+4];
        setp.lt.u32 %p, %n, 128;
        @%p bra few;
        mov.u64 %f, count;
        call.uni launch, (%f, %at);
        call.uni (%e), cudaDeviceSynchronize, ();
        ret;
      }
      // Each block launches a parent, in its own stream.
      .visible .entry crowd(.param .u64 at)
      {
        .reg .b64 %at, %f;
        ld.param.u64 %at, [at];
        mov.u64 %f, parent;
        call.uni launch, (%f, %at);
        ret;
      }
      """;

  private static DeviceImage image(int capability) {
    byte[] text = KERNELS.getBytes(StandardCharsets.US_ASCII);
    return DeviceImage.parse(MemorySegment.ofArray(text), capability);
  }

  /** Runs a kernel where cards have the call; returns the word that it is given. */
  private static int run(String kernel, int blocks) throws InterruptedException {
    DeviceSpec spec = new DeviceSpec(1, 64L << 20, 86);
    try (SoftGpu gpu = new SoftGpu(spec, SoftGpu.MissingPtx.FAIL, text -> {})) {
      SoftContext context = new SoftContext(gpu.device(0), 0);
      SoftStream stream = context.legacyStream();
      long at = context.allocate(8);
      stream.fill(at, 0, 0, 8, 1, 1);
      SoftModule.load(context, image(86))
          .function(kernel)
          .launch(
              stream,
              new LaunchShape(new Dim3(blocks), new Dim3(1), 0, false),
              MemorySegment.ofArray(new long[] {at}));

      byte[] result = readBytes(stream, at, 4);
      context.requireUsable();
      return ByteBuffer.wrap(result).order(ByteOrder.LITTLE_ENDIAN).getInt();
    }
  }

  @Test
  void synchronization_whereCardsHaveIt_waitsForTheChildren() throws InterruptedException {
    // 3 6+1 14+1 30+1 62+1 126
    assertThat(run("waits", 1)).isEqualTo(126);
  }

  @Test
  void synchronization_ofMoreGridsThanRunAtOnce_ends() throws InterruptedException {
    assertThat(run("crowd", 300)).isEqualTo(300);
  }

  @Test
  void synchronization_whereCardsHaveItNoMore_isRefusedAtLoading() {
    try (SoftGpu gpu = TestGpu.create()) {
      SoftContext context = new SoftContext(gpu.device(0), 0);

      assertStatus(() -> SoftModule.load(context, image(90)), CudaStatus.UNSUPPORTED_DEVSIDE_SYNC);
    }
  }
}
