// SPDX-License-Identifier: Apache-2.0
package io.gpupool.soft.device;

import static io.gpupool.soft.device.TestGpu.assertStatus;
import static io.gpupool.soft.device.TestGpu.readBytes;
import static org.assertj.core.api.Assertions.assertThat;

import io.gpupool.soft.CudaStatus;
import io.gpupool.soft.Dim3;
import io.gpupool.soft.device.array.SoftArray;
import io.gpupool.soft.device.array.SoftReferences;
import io.gpupool.soft.device.array.TextureObjects;
import io.gpupool.soft.device.array.TextureResource;
import io.gpupool.soft.device.context.PitchedRegion;
import io.gpupool.soft.device.context.SoftContext;
import io.gpupool.soft.device.context.SoftStream;
import io.gpupool.soft.device.module.SoftModule;
import io.gpupool.soft.device.spec.ArrayShape;
import io.gpupool.soft.device.spec.LaunchShape;
import io.gpupool.soft.device.work.Completion;
import io.gpupool.soft.image.DeviceImage;
import io.gpupool.soft.ptx.VariableKind;
import io.gpupool.soft.texture.AddressMode;
import io.gpupool.soft.texture.MipmapFilter;
import io.gpupool.soft.texture.Sampler;
import io.gpupool.soft.texture.TexelFormat;
import java.lang.foreign.MemorySegment;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Texture and surface instructions in kernels: what they read and write, and how they fail. */
@Timeout(60)
final class TextureKernelTest {
  private static final int SIDE = 4;
  private static final int FLOAT = 0x20;
  private static final long OUT_BYTES = 64;

  /** Instructions get the object in %rd1; results go to %r1 to %r4. */
  private static final String KERNEL =
      """
      .version 8.0
      .target sm_75
      .address_size 64
      .global .texref plane;
      .global .surfref canvas;
      .visible .entry run(.param .u64 object, .param .u64 out)
      {
        .reg .b64 %rd<3>;
        .reg .b32 %r<8>;
        .reg .f32 %f<8>;
        .reg .pred %p<2>;
        ld.param.u64 %rd1, [object];
        ld.param.u64 %rd2, [out];
        mov.f32 %f1, 0f3FC00000;
        mov.f32 %f2, 0f40200000;
        mov.u32 %r5, 1;
        mov.u32 %r6, 2;
        mov.u32 %r1, 0;
        mov.u32 %r2, 0;
        mov.u32 %r3, 0;
        mov.u32 %r4, 0;
        INSTRUCTION
        st.global.v4.u32 [%rd2], {%r1, %r2, %r3, %r4};
        ret;
      }
      """;

  private final SoftGpu gpu = TestGpu.create();
  private final SoftContext context = new SoftContext(gpu.device(0), 0);
  private final SoftStream stream = context.createStream(0, 0);
  private final SoftArray array =
      SoftArray.create(context, ArrayShape.of(SIDE, SIDE, 0, FLOAT, 1, ArrayShape.SURFACE));
  private final long texture = texture();
  private final long surface = new TextureObjects(context).createSurface(array);

  TextureKernelTest() {
    ByteBuffer host = ByteBuffer.allocate(4 * SIDE * SIDE).order(ByteOrder.LITTLE_ENDIAN);
    for (int i = 0; i < SIDE * SIDE; i++) {
      host.putFloat(4 * i, i);
    }
    PitchedRegion.Extent all = new PitchedRegion.Extent(4 * SIDE, SIDE, 1);
    stream.write(
        array.rows(0, 0, 0, all), PitchedRegion.tight(MemorySegment.ofArray(host.array()), all));
  }

  @AfterEach
  void close() {
    gpu.close();
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '@',
      textBlock =
          """
          tex.2d.v4.f32.f32 {%r1, %r2, %r3, %r4}, [%rd1, {%f1, %f2}];                  @ 9
          tex.2d.v4.f32.s32 {%r1, %r2, %r3, %r4}, [%rd1, {%r5, %r6}];                  @ 9
          tex.level.2d.v4.f32.f32 {%r1, %r2, %r3, %r4}, [%rd1, {%f1, %f2}], 0f00000000; @ 9
          tex.base.2d.v4.f32.f32 {%r1, %r2, %r3, %r4}, [%rd1, {%f1, %f2}];             @ 9
          tex.grad.2d.v4.f32.f32 {%r1, _, _, _}, [%rd1, {%f1, %f2}], {%f1, %f1}, {%f2, %f2}; @ 9
          tex.1d.v4.f32.f32 {%r1, %r2, %r3, %r4}, [%rd1, {%f1}];                       @ 1
          tex.a2d.v4.f32.f32 {%r1, %r2, %r3, %r4}, [%rd1, {%r6, %f1, %f2, %f2}];       @ 9
          tex.2d.v4.f32.f32 {%r1, %r2, %r3, %r4}|%p1, [%rd1, {%f1, %f2}];              @ 9
          """)
  void tex_ofAnyForm_readsTheElement(String instruction, float expected)
      throws InterruptedException {
    assertThat(run(instruction, texture).getFloat(0)).isEqualTo(expected);
    context.requireUsable();
  }

  @Test
  void tex_inHalves_givesBoth() throws InterruptedException {
    ByteBuffer out = run("tex.2d.v2.f16x2.f32 {%r1, %r2}, [%rd1, {%f1, %f2}];", texture);
    assertThat(Float.float16ToFloat(out.getShort(0))).isEqualTo(9);
    assertThat(out.getShort(2)).isZero();
    assertThat(Float.float16ToFloat(out.getShort(6))).isEqualTo(1);
  }

  @Test
  void tld4_givesTheFourAround() throws InterruptedException {
    ByteBuffer out = run("tld4.r.2d.v4.f32.f32 {%r1, %r2, %r3, %r4}, [%rd1, {%f1, %f2}];", texture);
    assertThat(new float[] {out.getFloat(0), out.getFloat(4), out.getFloat(8), out.getFloat(12)})
        .containsExactly(13, 14, 10, 9);
  }

  @Test
  void queries_giveExtents() throws InterruptedException {
    assertThat(run("txq.width.b32 %r1, [%rd1]; txq.height.b32 %r2, [%rd1];", texture).getInt(4))
        .isEqualTo(SIDE);
    assertThat(run("txq.num_mipmap_levels.b32 %r1, [%rd1];", texture).getInt(0)).isEqualTo(1);
    assertThat(run("suq.width.b32 %r1, [%rd1];", surface).getInt(0)).isEqualTo(SIDE);
  }

  @Test
  void surface_writesAndReads_inEachWidth() throws InterruptedException {
    ByteBuffer out =
        run(
            """
            mov.u32 %r7, 0x12345678;
            sust.b.2d.v2.b16.trap [%rd1, {8, 1}], {%r5, %r6};
            sust.b.2d.b8.trap [%rd1, {5, 1}], {%r7};
            suld.b.2d.v2.b32.trap {%r1, %r2}, [%rd1, {0, 1}];
            suld.b.2d.v4.b8.trap {%r1, %r3, %r4, %r5}, [%rd1, {8, 1}];
            """,
            surface);
    assertThat(out.getInt(0)).isEqualTo(1);
    assertThat(out.getInt(4) >>> 8 & 0xff).isEqualTo(0x78);
    assertThat(out.getInt(12)).isEqualTo(2);
  }

  @Test
  void surface_reductions_areMade() throws InterruptedException {
    ByteBuffer out =
        run(
            """
            sust.b.1d.b32.trap [%rd1, {0}], {%r5};
            sured.b.add.1d.u32.trap [%rd1, {0}], %r6;
            sured.b.max.1d.s32.zero [%rd1, {-4}], %r6;
            suld.b.1d.b32.trap {%r1}, [%rd1, {0}];
            """,
            surface);
    assertThat(out.getInt(0)).isEqualTo(3);
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      textBlock =
          """
          suld.b.2d.b32.trap {%r1}, [%rd1, {16, 0}];  | LAUNCH_FAILED
          suld.b.2d.b32.trap {%r1}, [%rd1, {0, -1}];  | LAUNCH_FAILED
          suld.b.2d.b32.trap {%r1}, [%rd1, {2, 0}];   | MISALIGNED_ADDRESS
          suld.b.2d.b32.trap {%r1}, [%rd2, {0, 0}];   | ILLEGAL_ADDRESS
          tex.2d.v4.f32.f32 {%r1, _, _, _}, [%rd1, {%f1, %f2}]; | ILLEGAL_ADDRESS
          """)
  void surface_accessThatCannotBe_endsTheContext(String instruction, CudaStatus status)
      throws InterruptedException {
    launch(instruction, surface).await();
    assertStatus(context::requireUsable, status);
  }

  @Test
  void texture_ofAFreedArray_endsTheContext() throws InterruptedException {
    array.destroy();
    stream.completion().await();
    launch("tex.2d.v4.f32.f32 {%r1, _, _, _}, [%rd1, {%f1, %f2}];", texture).await();
    assertStatus(context::requireUsable, CudaStatus.ILLEGAL_ADDRESS);
  }

  @Test
  void textureWithOffset_isRefusedByName() {
    String offset = "tex.2d.v4.f32.f32 {%r1, _, _, _}, [%rd1, {%f1, %f2}], {%r5, %r6};";
    assertStatus(() -> launch(offset, texture), CudaStatus.NOT_SUPPORTED);
  }

  @Test
  void surface_ofAnArrayNotMadeForIt_isRefused() {
    SoftArray plain = SoftArray.create(context, ArrayShape.of(SIDE, 0, 0, FLOAT, 1, 0));
    assertStatus(() -> new TextureObjects(context).createSurface(plain), CudaStatus.INVALID_VALUE);
  }

  @Test
  void reference_changedAfterALaunch_isReadAsItWasThen() throws InterruptedException {
    SoftModule module = load("tex.2d.v4.f32.f32 {%r1, _, _, _}, [plane, {%f1, %f2}];");
    long symbol = module.reference("plane", VariableKind.TEXTURE);
    SoftArray other = SoftArray.create(context, ArrayShape.of(SIDE, SIDE, 0, FLOAT, 1, 0));
    CompletableFuture<Runnable> gate = new CompletableFuture<>();
    stream.callHost((status, open) -> gate.complete(open), false);
    long first = context.allocate(OUT_BYTES);
    long second = context.allocate(OUT_BYTES);

    new SoftReferences(context).bind(symbol, () -> resource(array), TextureKernelTest::points);
    launch(module, 0, first);
    new SoftReferences(context).bind(symbol, () -> resource(other), TextureKernelTest::points);
    launch(module, 0, second);
    gate.join().run();

    assertThat(read(first).getFloat(0)).isEqualTo(9);
    assertThat(read(second).getFloat(0)).isZero();
  }

  @Test
  void reference_whosePropertiesDoNotFit_isAFaultOfTheKernelThatReads()
      throws InterruptedException {
    SoftModule module = load("tex.2d.v4.f32.f32 {%r1, _, _, _}, [plane, {%f1, %f2}];");
    long symbol = module.reference("plane", VariableKind.TEXTURE);
    new SoftReferences(context)
        .bind(
            symbol,
            () -> new TextureResource.Linear(1, TexelFormat.of(FLOAT, 1), 64),
            TextureKernelTest::points);
    context.requireUsable();
    launch(module, 0, context.allocate(OUT_BYTES)).await();
    assertStatus(context::requireUsable, CudaStatus.ILLEGAL_ADDRESS);
  }

  @Test
  void reference_ofASurface_isReadAndWritten() throws InterruptedException {
    SoftModule module =
        load(
            """
            sust.b.2d.b32.trap [canvas, {4, 1}], {%r6};
            suld.b.2d.b32.trap {%r1}, [canvas, {4, 1}];
            """);
    new SoftReferences(context).bind(module.reference("canvas", VariableKind.SURFACE), array);
    long out = context.allocate(OUT_BYTES);
    launch(module, 0, out);

    assertThat(read(out).getInt(0)).isEqualTo(2);
    assertStatus(() -> module.reference("canvas", VariableKind.TEXTURE), CudaStatus.NOT_FOUND);
  }

  @Test
  void reference_boundToNothing_isAFault() throws InterruptedException {
    launch("tex.2d.v4.f32.f32 {%r1, _, _, _}, [plane, {%f1, %f2}];", texture).await();
    assertStatus(context::requireUsable, CudaStatus.ILLEGAL_ADDRESS);
  }

  private static TextureResource resource(SoftArray array) {
    return new TextureResource.Arrays(List.of(array));
  }

  private static Sampler points() {
    AddressMode clamp = AddressMode.CLAMP;
    return new Sampler(
        List.of(clamp, clamp, clamp),
        false,
        false,
        false,
        false,
        false,
        MipmapFilter.NONE,
        List.of(0f, 0f, 0f, 0f));
  }

  private long texture() {
    return new TextureObjects(context).createTexture(resource(array), points(), null);
  }

  private ByteBuffer run(String instructions, long object) throws InterruptedException {
    long out = context.allocate(OUT_BYTES);
    launch(instructions, object, out);
    return read(out);
  }

  private ByteBuffer read(long out) throws InterruptedException {
    byte[] bytes = readBytes(stream, out, (int) OUT_BYTES);
    context.requireUsable();
    return ByteBuffer.wrap(bytes).order(ByteOrder.LITTLE_ENDIAN);
  }

  private Completion launch(String instructions, long object) {
    return launch(instructions, object, context.allocate(OUT_BYTES));
  }

  private Completion launch(String instructions, long object, long out) {
    return launch(load(instructions), object, out);
  }

  private SoftModule load(String instructions) {
    byte[] ptx = KERNEL.replace("INSTRUCTION", instructions).getBytes(StandardCharsets.UTF_8);
    return SoftModule.load(context, DeviceImage.parse(MemorySegment.ofArray(ptx), 90));
  }

  private Completion launch(SoftModule module, long object, long out) {
    ByteBuffer params = ByteBuffer.allocate(16).order(ByteOrder.LITTLE_ENDIAN);
    params.putLong(0, object).putLong(8, out);
    LaunchShape one = new LaunchShape(new Dim3(1), new Dim3(1), 0, false);
    return module.function("run").launch(stream, one, MemorySegment.ofArray(params.array()));
  }
}
