// SPDX-License-Identifier: Apache-2.0
package io.gpupool.soft.kernel;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import io.gpupool.soft.exec.launch.KernelFaultException;
import io.gpupool.soft.tensor.TensorElement;
import io.gpupool.soft.tensor.TensorMap;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.List;
import java.util.Random;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

/** Copies by tensor maps, against loops over coordinates. */
class TensorKernelsTest {
  private static final int SHARED_BYTES = 16 << 10;

  /**
   * One thread: fills shared memory from {@code box}, runs the instruction, and writes shared
   * memory back behind a word that says whether the barrier's phase is over.
   */
  private static final String KERNEL =
      """
      .version 9.0
      .target sm_90
      .address_size 64
      .visible .entry copy(
        .param .align 64 .b8 map[128], .param .u64 box, .param .u64 target, .param .u32 bytes,
        .param .u32 c0, .param .u32 c1, .param .u32 c2, .param .u32 c3, .param .u32 c4)
      {
        .reg .pred %%p<2>; .reg .b32 %%r<12>; .reg .b64 %%d<12>;
        .shared .align 1024 .b8 area[16384];
        .shared .align 8 .b64 barrier;
        ld.param.u64 %%d1, [box]; ld.param.u64 %%d5, [target]; ld.param.u32 %%r1, [bytes];
        ld.param.u32 %%r2, [c0]; ld.param.u32 %%r3, [c1]; ld.param.u32 %%r4, [c2];
        ld.param.u32 %%r5, [c3]; ld.param.u32 %%r6, [c4];
        mov.b64 %%d0, map; cvta.param.u64 %%d0, %%d0;
        mov.u32 %%r7, area; mov.u32 %%r8, barrier; mov.u32 %%r9, 0;
      FILL:
        cvt.u64.u32 %%d2, %%r9; add.s64 %%d3, %%d1, %%d2; add.u32 %%r10, %%r7, %%r9;
        ld.global.b64 %%d4, [%%d3+8]; st.shared.b64 [%%r10], %%d4;
        add.u32 %%r9, %%r9, 8; setp.lt.u32 %%p0, %%r9, 16384; @%%p0 bra FILL;
        mbarrier.init.shared.b64 [%%r8], 1;
        mbarrier.arrive.expect_tx.shared.b64 %%d4, [%%r8], %%r1;
        %s;
        mbarrier.test_wait.shared.b64 %%p1, [%%r8], %%d4;
        selp.b64 %%d4, 1, 0, %%p1; st.global.b64 [%%d1], %%d4;
        mov.u32 %%r9, 0;
      READ:
        cvt.u64.u32 %%d2, %%r9; add.s64 %%d3, %%d1, %%d2; add.u32 %%r10, %%r7, %%r9;
        ld.shared.b64 %%d4, [%%r10]; st.global.b64 [%%d3+8], %%d4;
        add.u32 %%r9, %%r9, 8; setp.lt.u32 %%p0, %%r9, 16384; @%%p0 bra READ;
        ret;
      }
      """;

  private static String place(int rank) {
    return String.join(
        ", ", IntStream.range(2, 2 + rank).mapToObj(register -> "%r" + register).toList());
  }

  private static String load(int rank) {
    return "cp.async.bulk.tensor."
        + rank
        + "d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%r7], [%d0, {"
        + place(rank)
        + "}], [%r8]";
  }

  private static String store(int rank) {
    return "cp.async.bulk.tensor."
        + rank
        + "d.global.shared::cta.bulk_group [%d0, {"
        + place(rank)
        + "}], [%r7]; cp.async.bulk.commit_group; cp.async.bulk.wait_group.read 0";
  }

  private static TestGpu gpu(String instruction) throws Exception {
    return TestGpu.withPtx(KERNEL.formatted(instruction));
  }

  /** A tensor in memory and the box of it. */
  private record Shape(
      TensorElement element, long[] dims, long[] strides, int[] box, int[] steps, int swizzle) {
    private static Shape random(Random random, int rank) {
      while (true) {
        TensorElement element = TensorElement.values()[random.nextInt(10)];
        int swizzle = random.nextInt(4);
        int atOnce = 16 / element.bytes();
        long[] dims = new long[rank];
        long[] strides = new long[rank - 1];
        int[] box = new int[rank];
        int[] steps = new int[rank];
        long bytes = element.bytes();
        for (int d = 0; d < rank; d++) {
          dims[d] = 1 + random.nextInt(d == 0 ? 70 : 6);
          box[d] = 1 + random.nextInt(5);
          steps[d] = d == 0 ? 1 : 1 + random.nextInt(3);
          bytes = Math.ceilDiv(bytes * dims[d], 16) * 16 + 16L * random.nextInt(2);
          if (d < rank - 1) {
            strides[d] = bytes;
          }
        }
        box[0] = atOnce * (1 + random.nextInt(swizzle == 0 ? 8 : 1 << swizzle));
        Shape shape = new Shape(element, dims, strides, box, steps, swizzle);
        if (shape.tiledBytes() <= SHARED_BYTES && box[0] <= 256 && shape.bytes() < 1 << 20) {
          return shape;
        }
      }
    }

    private int count(int d) {
      return (box[d] + steps[d] - 1) / steps[d];
    }

    private int tiledBytes() {
      return IntStream.range(0, box.length)
          .map(this::count)
          .reduce(element.bytes(), (a, b) -> a * b);
    }

    private long bytes() {
      return box.length == 1
          ? dims[0] * element.bytes()
          : strides[box.length - 2] * dims[box.length - 1];
    }

    private byte[] map(MemorySegment tensor, boolean nan) {
      byte[] bytes = new byte[TensorMap.BYTES];
      TensorMap.Tiled tiled =
          new TensorMap.Tiled(
              element.ordinal(),
              tensor.address(),
              new TensorMap.Shape(dims, strides),
              new TensorMap.Box(box, steps),
              0,
              swizzle,
              2,
              nan ? 1 : 0);
      TensorMap.of(tiled).write(MemorySegment.ofArray(bytes));
      return bytes;
    }

    /** Byte offset in the tensor of an element of the box, or -1. */
    private long offset(int[] start, int index) {
      long offset = 0;
      int rest = index;
      for (int d = 0; d < box.length; d++) {
        long at = start[d] + (long) rest % count(d) * steps[d];
        rest /= count(d);
        if (at < 0 || at >= dims[d]) {
          return -1;
        }
        offset += at * (d == 0 ? element.bytes() : strides[d - 1]);
      }
      return offset;
    }

    /** Byte offset in shared memory of an element of the box. */
    private int place(int index) {
      int at = index * element.bytes();
      int chunks = 1 << swizzle;
      int chunk = at / 16;
      return (chunk / chunks * chunks + (chunk % chunks ^ at / 128 % chunks)) * 16 + at % 16;
    }
  }

  private static int[] start(Random random, Shape shape) {
    int[] start = new int[TensorMap.MAX_RANK];
    for (int d = 0; d < shape.dims().length; d++) {
      start[d] = random.nextInt((int) shape.dims()[d] + 6) - 4;
    }
    return start;
  }

  private static void run(
      TestGpu gpu, byte[] map, MemorySegment box, MemorySegment tensor, int bytes, int[] c)
      throws KernelFaultException {
    gpu.run("copy", TestGpu.blocks(1, 1), map, box, tensor, bytes, c[0], c[1], c[2], c[3], c[4]);
  }

  private static void randomize(Random random, MemorySegment memory) {
    byte[] bytes = new byte[(int) memory.byteSize()];
    random.nextBytes(bytes);
    memory.copyFrom(MemorySegment.ofArray(bytes));
  }

  private static byte[] bytes(MemorySegment memory) {
    return memory.toArray(ValueLayout.JAVA_BYTE);
  }

  @Test
  void load_boxesOfAllRanks_areWhatTheTensorHasOrZeros() throws Exception {
    for (int rank = 1; rank <= TensorMap.MAX_RANK; rank++) {
      try (TestGpu gpu = gpu(load(rank))) {
        Random random = new Random(rank);
        for (int round = 0; round < 20; round++) {
          Shape shape = Shape.random(random, rank);
          MemorySegment tensor = gpu.allocate(shape.bytes());
          MemorySegment box = gpu.allocate(8 + SHARED_BYTES);
          randomize(random, tensor);
          randomize(random, box);
          int[] start = start(random, shape);
          byte[] expected = bytes(box.asSlice(8));
          for (int i = 0; i < shape.tiledBytes() / shape.element().bytes(); i++) {
            long from = shape.offset(start, i);
            for (int b = 0; b < shape.element().bytes(); b++) {
              expected[shape.place(i) + b] =
                  from < 0 ? 0 : tensor.get(ValueLayout.JAVA_BYTE, from + b);
            }
          }

          run(gpu, shape.map(tensor, false), box, tensor, shape.tiledBytes(), start);

          assertThat(box.get(ValueLayout.JAVA_LONG, 0)).as("bytes told to the barrier").isOne();
          assertThat(bytes(box.asSlice(8))).as("%s", shape).isEqualTo(expected);
          gpu.free(tensor);
          gpu.free(box);
        }
      }
    }
  }

  @Test
  void store_boxesOfAllRanks_changeWhatTheTensorHasAndNoMore() throws Exception {
    for (int rank = 1; rank <= TensorMap.MAX_RANK; rank++) {
      try (TestGpu gpu = gpu(store(rank))) {
        Random random = new Random(10 + rank);
        for (int round = 0; round < 20; round++) {
          Shape shape = Shape.random(random, rank);
          MemorySegment tensor = gpu.allocate(shape.bytes());
          MemorySegment box = gpu.allocate(8 + SHARED_BYTES);
          randomize(random, tensor);
          randomize(random, box);
          int[] start = start(random, shape);
          byte[] expected = bytes(tensor);
          for (int i = 0; i < shape.tiledBytes() / shape.element().bytes(); i++) {
            long to = shape.offset(start, i);
            for (int b = 0; to >= 0 && b < shape.element().bytes(); b++) {
              expected[(int) to + b] = box.get(ValueLayout.JAVA_BYTE, 8 + shape.place(i) + b);
            }
          }

          run(gpu, shape.map(tensor, false), box, tensor, 0, start);

          assertThat(bytes(tensor)).as("%s", shape).isEqualTo(expected);
          gpu.free(tensor);
          gpu.free(box);
        }
      }
    }
  }

  @Test
  void load_outsideOfATensorOfFloats_isNanWhereTheMapSaysSo() throws Exception {
    Shape shape =
        new Shape(
            TensorElement.F32,
            new long[] {8, 2},
            new long[] {32},
            new int[] {8, 4},
            new int[] {1, 1},
            0);
    try (TestGpu gpu = gpu(load(2))) {
      MemorySegment tensor = gpu.allocate(64);
      MemorySegment box = gpu.allocate(8 + SHARED_BYTES);

      run(gpu, shape.map(tensor, true), box, tensor, 128, new int[] {-1, 1, 0, 0, 0});

      MemorySegment read = box.asSlice(8);
      assertThat(read.getAtIndex(ValueLayout.JAVA_INT, 0)).isEqualTo(0x7FFF_FFFF);
      assertThat(read.getAtIndex(ValueLayout.JAVA_INT, 1)).isZero();
      assertThat(read.getAtIndex(ValueLayout.JAVA_INT, 7)).isZero();
      assertThat(Float.isNaN(read.getAtIndex(ValueLayout.JAVA_FLOAT, 8))).isTrue();
    }
  }

  @Test
  void reduction_ofABox_addsToTheTensor() throws Exception {
    Shape shape =
        new Shape(
            TensorElement.S32,
            new long[] {5, 3},
            new long[] {32},
            new int[] {8, 4},
            new int[] {1, 1},
            1);
    String add = store(2).replace("cp.async.bulk.tensor", "cp.reduce.async.bulk.tensor");
    try (TestGpu gpu = gpu(add.replace("shared::cta", "shared::cta.add"))) {
      MemorySegment tensor = gpu.allocate(96);
      MemorySegment box = gpu.allocate(8 + SHARED_BYTES);
      for (int i = 0; i < 24; i++) {
        tensor.setAtIndex(ValueLayout.JAVA_INT, i, 1000 * i);
      }
      for (int i = 0; i < 32; i++) {
        box.set(ValueLayout.JAVA_INT, 8 + shape.place(i), i - 7);
      }

      run(gpu, shape.map(tensor, false), box, tensor, 0, new int[5]);

      for (int i = 0; i < 24; i++) {
        assertThat(tensor.getAtIndex(ValueLayout.JAVA_INT, i))
            .isEqualTo(1000 * i + (i % 8 < 5 ? i - 7 : 0));
      }
    }
  }

  @Test
  void bulkReductions_ofEachType_combineEachElement() throws Exception {
    assertThat(reduced("add.u32", 5, 0xFFFF_FFFEL)).isEqualTo(3);
    assertThat(reduced("add.u64", 5, -7)).isEqualTo(-2);
    assertThat(reduced("add.f32", bits(1.5f), bits(2.25f))).isEqualTo(bits(3.75f));
    assertThat(
            Double.longBitsToDouble(
                reduced("add.f64", Double.doubleToLongBits(0.5), Double.doubleToLongBits(3))))
        .isEqualTo(3.5);
    assertThat(reduced("add.noftz.f16", half(1.5f), half(2))).isEqualTo(half(3.5f));
    assertThat(reduced("add.noftz.bf16", 0x3FC0, 0x4000)).isEqualTo(0x4060);
    assertThat(reduced("min.f16", half(1.5f), half(-2))).isEqualTo(half(-2));
    assertThat(reduced("max.bf16", 0x3FC0, 0x4000)).isEqualTo(0x4000);
    assertThat(reduced("min.s32", -3 & 0xFFFF_FFFFL, 2)).isEqualTo(-3 & 0xFFFF_FFFFL);
    assertThat(reduced("min.u32", -3 & 0xFFFF_FFFFL, 2)).isEqualTo(2);
    assertThat(reduced("max.s64", -3, 2)).isEqualTo(2);
    assertThat(reduced("max.u64", -3, 2)).isEqualTo(-3);
    assertThat(reduced("inc.u32", 5, 5)).isZero();
    assertThat(reduced("dec.u32", 0, 5)).isEqualTo(5);
    assertThat(reduced("and.b32", 0b1100, 0b1010)).isEqualTo(0b1000);
    assertThat(reduced("or.b64", 0b1100, 0b1010)).isEqualTo(0b1110);
    assertThat(reduced("xor.b32", 0b1100, 0b1010)).isEqualTo(0b0110);
  }

  private static long bits(float value) {
    return Float.floatToRawIntBits(value) & 0xFFFF_FFFFL;
  }

  private static long half(float value) {
    return Float.floatToFloat16(value) & 0xFFFFL;
  }

  /** The last of 16 bytes of elements in global memory, each combined with another one. */
  private static long reduced(String operation, long there, long value) throws Exception {
    String type = operation.substring(operation.lastIndexOf('.') + 1);
    int bytes = Integer.parseInt(type.replaceAll("[^0-9]", "")) / 8;
    String instruction = "cp.reduce.async.bulk.global.shared::cta.bulk_group.";
    try (TestGpu gpu = gpu(instruction + operation + " [%d5], [%r7], 16")) {
      MemorySegment target = gpu.allocate(16);
      MemorySegment box = gpu.allocate(8 + SHARED_BYTES);
      for (int at = 0; at < 16; at += bytes) {
        put(target.asSlice(at), bytes, there);
        put(box.asSlice(8 + at), bytes, value);
      }
      run(gpu, new byte[TensorMap.BYTES], box, target, 0, new int[5]);
      List<byte[]> all =
          IntStream.range(0, 16 / bytes)
              .mapToObj(i -> bytes(target.asSlice((long) i * bytes, bytes)))
              .toList();
      assertThat(all).allMatch(one -> java.util.Arrays.equals(one, all.getFirst()));
      return switch (bytes) {
        case 2 -> target.get(ValueLayout.JAVA_SHORT, 14) & 0xFFFFL;
        case 4 -> target.get(ValueLayout.JAVA_INT, 12) & 0xFFFF_FFFFL;
        default -> target.get(ValueLayout.JAVA_LONG, 8);
      };
    }
  }

  private static void put(MemorySegment at, int bytes, long value) {
    switch (bytes) {
      case 2 -> at.set(ValueLayout.JAVA_SHORT, 0, (short) value);
      case 4 -> at.set(ValueLayout.JAVA_INT, 0, (int) value);
      default -> at.set(ValueLayout.JAVA_LONG, 0, value);
    }
  }

  @Test
  void copies_withBadMapsOrMemory_areFaults() throws Exception {
    Shape shape =
        new Shape(
            TensorElement.U8,
            new long[] {64, 64},
            new long[] {64},
            new int[] {64, 8},
            new int[] {1, 1},
            0);
    try (TestGpu gpu = gpu(load(2))) {
      MemorySegment tensor = gpu.allocate(64 * 32);
      MemorySegment box = gpu.allocate(8 + SHARED_BYTES);
      byte[] map = shape.map(tensor, false);
      byte[] damaged = map.clone();
      damaged[0]++;
      run(gpu, map, box, tensor, 512, new int[5]);

      assertThat(fault(gpu, damaged, box, tensor, 0))
          .isEqualTo(KernelFaultException.ILLEGAL_INSTRUCTION);
      assertThat(fault(gpu, map, box, tensor, 30)).isEqualTo(KernelFaultException.ILLEGAL_ADDRESS);
    }
    Shape large =
        new Shape(
            TensorElement.U8,
            new long[] {256, 256},
            new long[] {256},
            new int[] {256, 256},
            new int[] {1, 1},
            0);
    try (TestGpu gpu = gpu(load(2))) {
      MemorySegment tensor = gpu.allocate(256 * 256);
      MemorySegment box = gpu.allocate(8 + SHARED_BYTES);
      assertThat(fault(gpu, large.map(tensor, false), box, tensor, 0))
          .isEqualTo(KernelFaultException.ILLEGAL_ADDRESS);
    }
  }

  private static int fault(
      TestGpu gpu, byte[] map, MemorySegment box, MemorySegment tensor, int y) {
    int[] start = {0, y, 0, 0, 0};
    return catchThrowableOfType(
            KernelFaultException.class, () -> run(gpu, map, box, tensor, 0, start))
        .cudaResult();
  }
}
