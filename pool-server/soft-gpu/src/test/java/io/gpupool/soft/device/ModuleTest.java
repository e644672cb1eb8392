// SPDX-License-Identifier: Apache-2.0
package io.gpupool.soft.device;

import static io.gpupool.soft.device.TestGpu.assertStatus;
import static io.gpupool.soft.device.TestGpu.readBytes;
import static org.assertj.core.api.Assertions.assertThat;

import io.gpupool.soft.CudaStatus;
import io.gpupool.soft.Dim3;
import io.gpupool.soft.device.context.SoftContext;
import io.gpupool.soft.device.context.SoftStream;
import io.gpupool.soft.device.module.SoftFunction;
import io.gpupool.soft.device.module.SoftModule;
import io.gpupool.soft.device.spec.LaunchShape;
import io.gpupool.soft.device.work.Completion;
import io.gpupool.soft.image.DeviceImage;
import io.gpupool.soft.image.SampleImages;
import java.lang.foreign.MemorySegment;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

final class ModuleTest {
  private final SoftGpu gpu = TestGpu.create();
  private final SoftContext context = new SoftContext(gpu.device(0), 0);
  private final SoftStream stream = context.createStream(0, 0);

  @AfterEach
  void close() {
    gpu.close();
  }

  @Test
  void variables_loadedModule_haveTheirInitialValues() throws InterruptedException {
    SoftModule module = SoftModule.load(context, image("sample.ptx"));

    SoftModule.Variable counter = module.variable("counter");
    SoftModule.Variable table = module.variable("table");
    assertThat(counter.sizeBytes()).isEqualTo(4);
    assertThat(table.sizeBytes()).isEqualTo(16);
    assertThat(read(counter).getInt()).isEqualTo(7);
    ByteBuffer floats = read(table);
    assertThat(floats.getFloat()).isEqualTo(1.5f);
    assertThat(floats.getFloat(12)).isEqualTo(4.5f);
  }

  @Test
  void variables_initialisedWithAddresses_holdThem() throws InterruptedException {
    SoftModule module = SoftModule.load(context, image("zstd.fatbin"));

    assertThat(read(module.variable("pointer")).getLong())
        .isEqualTo(module.variable("counter").address());
    assertThat(read(module.variable("second")).getLong())
        .isEqualTo(module.variable("table").address() + 4);
  }

  @Test
  void variables_memoryUsedBefore_startAsZero() throws InterruptedException {
    long dirty = context.allocate(1 << 20);
    stream.fill(dirty, 0, 0xff, 1, 1 << 20, 1).await();
    context.free(dirty);
    SoftModule module = SoftModule.load(context, ptx(".visible .global .align 4 .b8 blank[64];"));

    assertThat(readBytes(stream, module.variable("blank").address(), 64)).isEqualTo(new byte[64]);
  }

  @Test
  void module_twoContexts_haveVariablesOfTheirOwn() {
    SoftContext other = new SoftContext(gpu.device(1), 0);
    DeviceImage image = image("sample.ptx");

    assertThat(SoftModule.load(context, image).variable("counter").address())
        .isNotEqualTo(SoftModule.load(other, image).variable("counter").address());
  }

  @Test
  void lookups_unknownNames_areNotFound() {
    SoftModule module = SoftModule.load(context, image("sample.ptx"));

    assertStatus(() -> module.function("nothing"), CudaStatus.NOT_FOUND);
    assertStatus(() -> module.variable("nothing"), CudaStatus.NOT_FOUND);
  }

  @Test
  void load_undefinedReference_isRefusedAndLeavesNothing() {
    assertStatus(
        () -> SoftModule.load(context, ptx(".extern .global .align 4 .u32 elsewhere;")),
        CudaStatus.INVALID_PTX);
    assertThat(gpu.device(0).memory().usedBytes()).isZero();
  }

  @Test
  void unload_module_freesItsVariablesWhenWorkIsDone() {
    SoftModule module = SoftModule.load(context, image("sample.ptx"));
    Gate gate = new Gate();
    stream.callHost(gate, false);
    module.unload();
    assertThat(gpu.device(0).memory().usedBytes()).isPositive();

    gate.open();

    assertThat(gpu.device(0).memory().usedBytes()).isZero();
    assertStatus(module::unload, CudaStatus.INVALID_HANDLE);
  }

  @Test
  void destroy_contextWithModule_freesItsVariables() {
    SoftModule module = SoftModule.load(context, image("sample.ptx"));
    assertStatus(
        () -> context.free(module.variable("counter").address()), CudaStatus.INVALID_VALUE);

    context.destroy();

    assertThat(gpu.device(0).memory().usedBytes()).isZero();
    module.unload();
  }

  @Test
  void launch_machineCodeOnly_isNoBinary() {
    SoftFunction scale = SoftModule.load(context, image("sample.cubin")).function("scale");

    assertStatus(
        () -> scale.launch(stream, shape(1, 32), params(16)), CudaStatus.NO_BINARY_FOR_GPU);
    assertThat(scale.info().params()).hasSize(3);
  }

  @Test
  void launch_machineCodeOnlyAndSkipping_isCountedAndDone() {
    try (SoftGpu skipping = TestGpu.create(SoftGpu.MissingPtx.SKIP)) {
      SoftContext other = new SoftContext(skipping.device(0), 0);
      SoftFunction scale = SoftModule.load(other, image("sample.cubin")).function("scale");

      Completion completion = scale.launch(other.legacyStream(), shape(1, 32), params(16));

      assertThat(completion.isDone()).isTrue();
      assertThat(skipping.device(0).usage().skippedLaunches()).isEqualTo(1);
      assertThat(skipping.device(0).usage().launches()).isZero();
    }
  }

  private ByteBuffer read(SoftModule.Variable variable) throws InterruptedException {
    return ByteBuffer.wrap(readBytes(stream, variable.address(), (int) variable.sizeBytes()))
        .order(ByteOrder.LITTLE_ENDIAN);
  }

  private static DeviceImage image(String file) {
    return DeviceImage.parse(SampleImages.image(file), 90);
  }

  private static DeviceImage ptx(String declarations) {
    String text = ".version 8.0\n.target sm_75\n.address_size 64\n" + declarations + "\n";
    return DeviceImage.parse(MemorySegment.ofArray(text.getBytes(StandardCharsets.US_ASCII)), 90);
  }

  private static LaunchShape shape(int grid, int block) {
    return new LaunchShape(new Dim3(grid), new Dim3(block), 0, false);
  }

  private static MemorySegment params(int bytes) {
    return MemorySegment.ofArray(new byte[bytes]);
  }
}
