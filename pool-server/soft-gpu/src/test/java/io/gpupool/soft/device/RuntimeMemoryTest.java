// SPDX-License-Identifier: Apache-2.0
package io.gpupool.soft.device;

import static io.gpupool.soft.device.TestGpu.readBytes;
import static org.assertj.core.api.Assertions.assertThat;

import io.gpupool.soft.Dim3;
import io.gpupool.soft.device.context.SoftContext;
import io.gpupool.soft.device.context.SoftStream;
import io.gpupool.soft.device.module.SoftModule;
import io.gpupool.soft.device.spec.LaunchShape;
import io.gpupool.soft.device.spec.Limits;
import io.gpupool.soft.image.DeviceImage;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Memory of the device runtime while kernels use it. */
@Timeout(60)
final class RuntimeMemoryTest {
  /** Waits for a flag; then out = the name of an error. */
  private static final String KERNEL =
      """
      .version 8.0
      .target sm_70
      .address_size 64
      .extern .func (.param .b64 r) __cudaCDP2GetErrorName(.param .b32 error);
      .visible .entry late_name(.param .u64 flag, .param .u64 out)
      {
        .reg .b64 %flag, %out, %text;
        .reg .b32 %set;
        .reg .pred %p;
        ld.param.u64 %flag, [flag];
        ld.param.u64 %out, [out];
      wait:
        ld.volatile.global.u32 %set, [%flag];
        setp.eq.u32 %p, %set, 0;
        @%p bra wait;
        call.uni (%text), __cudaCDP2GetErrorName, (69);
        st.global.u64 [%out], %text;
        ret;
      }
      """;

  private final SoftGpu gpu = TestGpu.create();
  private final SoftContext context = new SoftContext(gpu.device(0), 0);
  private final SoftStream stream = context.createStream(SoftStream.NON_BLOCKING, 0);

  @AfterEach
  void close() {
    gpu.close();
  }

  @Test
  void resize_thatWaitsForMemoryBehindAKernel_letsTheKernelReadNames() throws Exception {
    byte[] text = KERNEL.getBytes(StandardCharsets.US_ASCII);
    SoftModule module =
        SoftModule.load(context, DeviceImage.parse(MemorySegment.ofArray(text), 90));
    long flag = context.allocate(4);
    long out = context.allocate(8);
    long most = context.allocate(TestGpu.MEMORY_BYTES * 3 / 4);
    stream.fill(flag, 0, 0, 4, 1, 1);
    module
        .function("late_name")
        .launch(
            stream,
            new LaunchShape(new Dim3(1), new Dim3(1), 0, false),
            MemorySegment.ofArray(new long[] {flag, out}));
    stream.free(most);

    Thread resizing =
        Thread.ofPlatform().start(() -> context.setLimit(Limits.PENDING_LAUNCH_COUNT, 1 << 15));
    try {
      while (resizing.getState() != Thread.State.TIMED_WAITING) {
        Thread.sleep(1);
      }
      gpu.device(0).memory().view(flag, 4).set(ValueLayout.JAVA_INT, 0, 1);

      ByteBuffer name = ByteBuffer.wrap(readBytes(stream, out, 8)).order(ByteOrder.LITTLE_ENDIAN);
      context.requireUsable();
      assertThat(gpu.device(0).memory().view(name.getLong(), 64).getString(0))
          .isEqualTo("cudaErrorLaunchPendingCountExceeded");
      resizing.join();
    } finally {
      // Without this a test that fails would not end.
      resizing.interrupt();
    }
    assertThat(context.limits().get(Limits.PENDING_LAUNCH_COUNT)).isEqualTo(1 << 15);
  }
}
