// SPDX-License-Identifier: Apache-2.0
package io.gpupool.soft.device;

import static io.gpupool.soft.device.TestGpu.assertStatus;
import static io.gpupool.soft.device.TestGpu.readBytes;
import static org.assertj.core.api.Assertions.assertThat;

import io.gpupool.soft.CudaStatus;
import io.gpupool.soft.Dim3;
import io.gpupool.soft.device.context.SoftContext;
import io.gpupool.soft.device.context.SoftEvent;
import io.gpupool.soft.device.context.SoftStream;
import io.gpupool.soft.device.module.SoftFunction;
import io.gpupool.soft.device.module.SoftModule;
import io.gpupool.soft.device.spec.LaunchShape;
import io.gpupool.soft.device.work.Completion;
import io.gpupool.soft.image.DeviceImage;
import io.gpupool.soft.image.SampleImages;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.Consumer;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Kernels run for real: what they compute, how they fail, and what goes on beside them. */
@Timeout(60)
final class KernelTest {
  private static final String POKE =
      """
      .version 8.0
      .target sm_75
      .address_size 64
      .visible .entry poke(.param .u64 target, .param .u32 value)
      {
        .reg .b64 %rd<2>;
        .reg .b32 %r<2>;
        ld.param.u64 %rd1, [target];
        ld.param.u32 %r1, [value];
        st.global.u32 [%rd1], %r1;
        ret;
      }
      .visible .entry await(.param .u64 flag)
      {
        .reg .b64 %rd<2>;
        .reg .b32 %r<2>;
        .reg .pred %p<2>;
        ld.param.u64 %rd1, [flag];
      again:
        ld.volatile.global.u32 %r1, [%rd1];
        setp.eq.u32 %p1, %r1, 0;
        @%p1 bra again;
        ret;
      }
      """;

  private final SoftGpu gpu = TestGpu.create();
  private final SoftContext context = new SoftContext(gpu.device(0), 0);
  private final SoftStream stream = context.createStream(0, 0);
  private final SoftStream other = context.createStream(SoftStream.NON_BLOCKING, 0);

  @AfterEach
  void close() {
    gpu.close();
  }

  @ParameterizedTest
  @ValueSource(strings = {"sample.ptx", "plain.fatbin", "lz4.fatbin", "zstd-all.fatbin"})
  void kernel_ofAnyImage_computes(String file) throws InterruptedException {
    int count = 10_000;
    SoftModule module = SoftModule.load(context, DeviceImage.parse(SampleImages.image(file), 90));
    ByteBuffer host = ByteBuffer.allocate(4 * count).order(ByteOrder.LITTLE_ENDIAN);
    for (int index = 0; index < count; index++) {
      host.putFloat(4 * index, index * 0.25f);
    }
    long data = context.allocate(4 * count);
    stream.write(data, MemorySegment.ofArray(host.array()));

    module
        .function("scale")
        .launch(
            stream,
            shape((count + 255) / 256, 256),
            params(16, block -> block.putLong(0, data).putFloat(8, 3f).putInt(12, count)));

    ByteBuffer result =
        ByteBuffer.wrap(readBytes(stream, data, 4 * count)).order(ByteOrder.LITTLE_ENDIAN);
    context.requireUsable();
    for (int index = 0; index < count; index++) {
      assertThat(result.getFloat(4 * index))
          .isEqualTo(Math.fma(index * 0.25f, 3f, 1.5f + (index & 3)));
    }
    assertThat(gpu.device(0).usage().launches()).isEqualTo(1);
    assertThat(gpu.device(0).usage().busyNanos()).isPositive();
    assertThat(gpu.device(0).usage().coreNanos()).isPositive();
  }

  @Test
  void kernel_throughPointerVariable_changesTheOther() throws InterruptedException {
    SoftModule module =
        SoftModule.load(context, DeviceImage.parse(SampleImages.image("sample.ptx"), 90));
    long out = context.allocate(4);

    for (int round = 0; round < 3; round++) {
      module
          .function("count")
          .launch(stream, shape(5, 128), params(32, block -> block.putLong(0, out)));
    }

    byte[] bytes = readBytes(stream, module.variable("counter").address(), 4);
    context.requireUsable();
    assertThat(ByteBuffer.wrap(bytes).order(ByteOrder.LITTLE_ENDIAN).getInt())
        .isEqualTo(7 + 3 * 5 * 128);
  }

  @Test
  void launch_manyInOneStream_runInOrder() throws InterruptedException {
    SoftFunction poke = load().function("poke");
    long target = context.allocate(4);

    for (int value = 1; value <= 20_000; value++) {
      poke(poke, stream, target, value);
    }

    assertThat(
            ByteBuffer.wrap(readBytes(stream, target, 4)).order(ByteOrder.LITTLE_ENDIAN).getInt())
        .isEqualTo(20_000);
  }

  @Test
  void launch_kernelThatWaitsForACopy_neitherBlocksNorStopsOthers() throws InterruptedException {
    SoftModule module = load();
    long flag = context.allocate(4);
    long target = context.allocate(4);
    stream.fill(flag, 0, 0, 4, 1, 1).await();

    Completion waiting =
        module.function("await").launch(stream, shape(1, 1), params(8, b -> b.putLong(0, flag)));
    poke(module.function("poke"), other, target, 5);
    other.completion().await();
    assertThat(waiting.isDone()).isFalse();
    other.fill(flag, 0, 1, 4, 1, 1);
    waiting.await();

    assertThat(readBytes(stream, target, 4)).containsExactly(5, 0, 0, 0);
  }

  @Test
  void kernel_writesOutOfRange_makesItsContextUnusableForEver() throws InterruptedException {
    SoftEvent event = context.createEvent(0);
    SoftFunction poke = load().function("poke");
    long mine = context.allocate(4);
    Gate gate = new Gate();
    AtomicBoolean called = new AtomicBoolean();
    stream.callHost(gate, false);
    poke(poke, stream, 0x10, 1);
    stream.fill(mine, 0, 9, 4, 1, 1);
    stream.callHost(
        (status, done) -> {
          called.set(true);
          done.run();
        },
        false);
    CudaStatus[] told = {CudaStatus.SUCCESS};
    Completion last =
        stream.callHost(
            (status, done) -> {
              told[0] = status;
              done.run();
            },
            true);
    gate.open();
    last.await();

    assertThat(called).as("host function behind the fault").isFalse();
    assertThat(told[0]).isEqualTo(CudaStatus.ILLEGAL_ADDRESS);
    assertStatus(context::requireUsable, CudaStatus.ILLEGAL_ADDRESS);
    assertStatus(() -> context.allocate(4), CudaStatus.ILLEGAL_ADDRESS);
    assertStatus(() -> stream.fill(mine, 0, 0, 4, 1, 1), CudaStatus.ILLEGAL_ADDRESS);
    assertStatus(() -> other.record(event), CudaStatus.ILLEGAL_ADDRESS);
    assertThat(context.fault().orElseThrow()).hasMessageContaining("poke");
  }

  @Test
  void fault_inOneContext_leavesOthersAlone() throws InterruptedException {
    SoftContext second = new SoftContext(gpu.device(0), 0);
    SoftFunction poke = SoftModule.load(second, image()).function("poke");
    long target = second.allocate(4);

    poke(load().function("poke"), stream, 0, 1);
    stream.completion().await();
    poke(poke, second.legacyStream(), target, 77);

    assertStatus(context::requireUsable, CudaStatus.ILLEGAL_ADDRESS);
    assertThat(readBytes(second.legacyStream(), target, 4)).containsExactly(77, 0, 0, 0);
    context.destroy();
    assertThat(new SoftContext(gpu.device(0), 0).allocate(4)).isPositive();
  }

  @Test
  void kernel_writesToFreedMemory_faults() throws InterruptedException {
    SoftFunction poke = load().function("poke");
    long target = context.allocate(4096);
    context.free(target);

    poke(poke, stream, target, 1);
    stream.completion().await();

    assertStatus(context::requireUsable, CudaStatus.ILLEGAL_ADDRESS);
  }

  @Test
  void free_kernelStillUsesTheMemory_waitsForIt() throws InterruptedException {
    SoftModule module = load();
    long flag = context.allocate(4);
    stream.fill(flag, 0, 0, 4, 1, 1).await();
    MemorySegment view = gpu.device(0).memory().view(flag, 4);
    module.function("await").launch(stream, shape(1, 1), params(8, b -> b.putLong(0, flag)));

    context.free(flag);
    assertThat(gpu.device(0).memory().usedBytes()).isPositive();
    view.set(ValueLayout.JAVA_INT, 0, 1);
    context.completion().await();

    context.requireUsable();
    assertThat(context.find(flag)).isEmpty();
  }

  @Test
  void close_kernelRunsForEver_stopsIt() {
    long flag = context.allocate(4);
    stream.fill(flag, 0, 0, 4, 1, 1);
    load().function("await").launch(stream, shape(4, 32), params(8, b -> b.putLong(0, flag)));

    gpu.close();

    assertStatus(() -> gpu.device(0).memory().allocate(1, this), CudaStatus.DEINITIALIZED);
  }

  private SoftModule load() {
    return SoftModule.load(context, image());
  }

  private static DeviceImage image() {
    return DeviceImage.parse(MemorySegment.ofArray(POKE.getBytes(StandardCharsets.US_ASCII)), 90);
  }

  private static void poke(SoftFunction poke, SoftStream stream, long target, int value) {
    poke.launch(
        stream, shape(1, 1), params(12, block -> block.putLong(0, target).putInt(8, value)));
  }

  private static LaunchShape shape(int grid, int threads) {
    return new LaunchShape(new Dim3(grid), new Dim3(threads), 0, false);
  }

  private static MemorySegment params(int bytes, Consumer<ByteBuffer> contents) {
    ByteBuffer block = ByteBuffer.allocate(bytes).order(ByteOrder.LITTLE_ENDIAN);
    contents.accept(block);
    return MemorySegment.ofArray(block.array());
  }
}
