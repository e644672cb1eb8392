// SPDX-License-Identifier: Apache-2.0
package io.gpupool.soft.instruction;

import static org.assertj.core.api.Assertions.assertThat;

import io.gpupool.soft.kernel.TestGpu;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.stream.Stream;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestFactory;

/**
 * Tensor-core instructions. Where the elements of {@code mma} lie is written here as the PTX manual
 * has it, element by element; numbers are such that every order of summing gives the same.
 */
class MatrixInstructionsTest {
  private static final int LANES = 32;
  private static final int WARPS = 2;

  /** Bytes for each of a lane's three parts and its results. */
  private static final int PART_BYTES = 64;

  private interface Place {
    int of(int group, int place, int i);
  }

  /**
   * The elements of a multiplicand that a lane holds.
   *
   * @param rowOfA the row of element i of a
   * @param columnOfA its column
   * @param rowOfB the row of element i of b, whose column is the lane's group
   */
  private record Layout(Place rowOfA, Place columnOfA, Place rowOfB) {}

  private static Layout layout(int bits, int m, int k) {
    return switch (bits + " " + m + " " + k) {
      case "16 16 8" ->
          new Layout(
              (g, _, i) -> i < 2 ? g : g + 8, (_, t, i) -> 2 * t + (i & 1), (_, t, i) -> 2 * t + i);
      case "16 16 16" ->
          new Layout(
              (g, _, i) -> i < 2 || i >= 4 && i < 6 ? g : g + 8,
              (_, t, i) -> i < 4 ? 2 * t + (i & 1) : 2 * t + (i & 1) + 8,
              (_, t, i) -> i < 2 ? 2 * t + (i & 1) : 2 * t + (i & 1) + 8);
      case "8 8 16" -> new Layout((g, _, _) -> g, (_, t, i) -> 4 * t + i, (_, t, i) -> 4 * t + i);
      case "8 16 16" ->
          new Layout(
              (g, _, i) -> i < 4 ? g : g + 8, (_, t, i) -> 4 * t + (i & 3), (_, t, i) -> 4 * t + i);
      case "8 16 32" ->
          new Layout(
              (g, _, i) -> i < 4 || i >= 8 && i < 12 ? g : g + 8,
              (_, t, i) -> i < 8 ? 4 * t + (i & 3) : 4 * t + (i & 3) + 16,
              (_, t, i) -> i < 4 ? 4 * t + (i & 3) : 4 * t + (i & 3) + 16);
      case "64 8 4" -> new Layout((g, _, _) -> g, (_, t, _) -> t, (_, t, _) -> t);
      case "32 16 4", "64 16 4" ->
          new Layout((g, _, i) -> i == 0 ? g : g + 8, (_, t, _) -> t, (_, t, _) -> t);
      case "32 16 8", "64 16 8" ->
          new Layout(
              (g, _, i) -> i == 0 || i == 2 ? g : g + 8,
              (_, t, i) -> i < 2 ? t : t + 4,
              (_, t, i) -> i == 0 ? t : t + 4);
      case "64 16 16" ->
          new Layout(
              (g, _, i) -> i % 2 == 0 ? g : g + 8,
              (_, t, i) -> i % 2 == 0 ? i * 2 + t : i * 2 - 2 + t,
              (_, t, i) -> t + i * 4);
      default -> throw new IllegalArgumentException(bits + " " + m + " " + k);
    };
  }

  private record Form(String shape, String d, String a, String b, String c) {
    String text(String options) {
      return "mma.sync.aligned.%s.row.col%s.%s.%s.%s.%s".formatted(shape, options, d, a, b, c);
    }

    int side(char name) {
      int from = shape.indexOf(name) + 1;
      int to = from;
      while (to < shape.length() && Character.isDigit(shape.charAt(to))) {
        to++;
      }
      return Integer.parseInt(shape.substring(from, to));
    }
  }

  private static List<Form> forms() {
    List<Form> forms = new ArrayList<>();
    for (String shape : List.of("m16n8k8", "m16n8k16")) {
      forms.add(new Form(shape, "f16", "f16", "f16", "f16"));
      forms.add(new Form(shape, "f32", "f16", "f16", "f32"));
      forms.add(new Form(shape, "f32", "bf16", "bf16", "f32"));
    }
    for (String shape : List.of("m16n8k4", "m16n8k8")) {
      forms.add(new Form(shape, "f32", "tf32", "tf32", "f32"));
    }
    for (String shape : List.of("m8n8k4", "m16n8k4", "m16n8k8", "m16n8k16")) {
      forms.add(new Form(shape, "f64", "f64", "f64", "f64"));
    }
    for (String a : List.of("s8", "u8")) {
      for (String b : List.of("s8", "u8")) {
        for (String shape : List.of("m8n8k16", "m16n8k16", "m16n8k32")) {
          forms.add(new Form(shape, "s32", a, b, "s32"));
        }
      }
    }
    for (String a : List.of("e4m3", "e5m2")) {
      for (String b : List.of("e4m3", "e5m2")) {
        for (String shape : List.of("m16n8k16", "m16n8k32")) {
          forms.add(new Form(shape, "f32", a, b, "f32"));
          forms.add(new Form(shape, "f16", a, b, "f16"));
        }
      }
    }
    return forms;
  }

  @TestFactory
  Stream<DynamicTest> mma_everyForm_isTheProductAndTheSum() {
    return forms().stream()
        .flatMap(form ->
            Stream.of(false, true)
                .map(apart ->
                    DynamicTest.dynamicTest(
                        form.text("") + (apart ? ", lanes apart" : ""), () -> check(form, apart))));
  }

  private static int bits(String type) {
    return switch (type) {
      case "f16", "bf16" -> 16;
      case "tf32", "f32", "s32" -> 32;
      case "f64" -> 64;
      default -> 8;
    };
  }

  /** A number that the type holds, small enough for exact sums. */
  private static double number(String type, Random random) {
    return switch (type) {
      case "s8" -> random.nextInt(256) - 128;
      case "u8" -> random.nextInt(256);
      case "s32" -> random.nextInt(1 << 20) - (1 << 19);
      default -> (random.nextInt(16) - 8) / 4.0;
    };
  }

  private static long encode(String type, double value) {
    return switch (type) {
      case "f16" -> Float.floatToFloat16((float) value) & 0xFFFF;
      case "bf16" -> Float.floatToIntBits((float) value) >>> 16;
      // The lower bits of a register do not count.
      case "tf32" -> Float.floatToIntBits((float) value) | 0x1ABC;
      case "f32" -> Float.floatToIntBits((float) value) & 0xFFFF_FFFFL;
      case "f64" -> Double.doubleToLongBits(value);
      case "s32" -> (int) value & 0xFFFF_FFFFL;
      case "e5m2" -> Float.floatToFloat16((float) value) >> 8 & 255;
      case "e4m3" -> {
        int half = Float.floatToFloat16((float) value) & 0xFFFF;
        int exponent = (half >> 10 & 31) - 15 + 7;
        yield value == 0 ? 0 : half >> 8 & 0x80 | exponent << 3 | half >> 7 & 7;
      }
      default -> (int) value & 255;
    };
  }

  private static void put(MemorySegment in, long part, int i, String type, double value) {
    int bytes = bits(type) / 8;
    long bits = encode(type, value);
    for (int byteAt = 0; byteAt < bytes; byteAt++) {
      in.set(ValueLayout.JAVA_BYTE, part + (long) i * bytes + byteAt, (byte) (bits >> 8 * byteAt));
    }
  }

  private static double decode(MemorySegment out, long part, int i, String type) {
    return switch (type) {
      case "f16" -> Float.float16ToFloat(out.get(ValueLayout.JAVA_SHORT, part + 2L * i));
      case "f32" -> out.get(ValueLayout.JAVA_FLOAT, part + 4L * i);
      case "f64" -> out.get(ValueLayout.JAVA_DOUBLE, part + 8L * i);
      default -> out.get(ValueLayout.JAVA_INT, part + 4L * i);
    };
  }

  private static String registers(String name, int count) {
    List<String> names = new ArrayList<>();
    for (int i = 0; i < count; i++) {
      names.add("%" + name + i);
    }
    return "{" + String.join(", ", names) + "}";
  }

  private static String moves(String direction, String name, int count, boolean wide, int part) {
    StringBuilder text = new StringBuilder();
    String type = wide ? "b64" : "b32";
    for (int i = 0; i < count; i++) {
      String memory = "[%%p+%d]".formatted(part * PART_BYTES + i * (wide ? 8 : 4));
      text.append(
          direction.equals("ld")
              ? "ld.global.%s %%%s%d, %s;\n".formatted(type, name, i, memory)
              : "st.global.%s %s, %%%s%d;\n".formatted(type, memory, name, i));
    }
    return text.toString();
  }

  /** A kernel that has each lane load its parts, runs an instruction, and stores its results. */
  private static String kernel(
      String instruction, int a, int b, int c, boolean wide, boolean wideSum, boolean apart) {
    return """
    .version 9.0
    .target sm_90
    .address_size 64
    .visible .entry kernel(.param .u64 memory)
    {
      .reg .pred %%q;
      .reg .b32 %%t;
      .reg .b64 %%p, %%w;
      .reg .%s %%a<8>, %%b<8>;
      .reg .%s %%c<8>, %%d<8>;
      mov.u32 %%t, %%tid.x;
      ld.param.u64 %%p, [memory];
      mul.wide.u32 %%w, %%t, %d;
      add.s64 %%p, %%p, %%w;
      %s%s%s
      %s
      %s %s, %s, %s, %s;
      %s
      ret;
    }
    """
        .formatted(
            wide ? "b64" : "b32",
            wideSum ? "b64" : "b32",
            4 * PART_BYTES,
            moves("ld", "a", a, wide, 0),
            moves("ld", "b", b, wide, 1),
            moves("ld", "c", c, wideSum, 2),
            apart
                ? "and.b32 %t, %t, 5; setp.eq.u32 %q, %t, 5; @%q bra LATE; bra TOGETHER;"
                    + " LATE: nanosleep.u32 1; TOGETHER:"
                : "",
            instruction,
            registers("d", c),
            registers("a", a),
            registers("b", b),
            registers("c", c),
            moves("st", "d", c, wideSum, 3));
  }

  private static void check(Form form, boolean apart) throws Exception {
    int m = form.side('m');
    int k = form.side('k');
    int bits = bits(form.a());
    Layout layout = layout(bits, m, k);
    int elementsOfA = m * k / LANES;
    int elementsOfB = k * 8 / LANES;
    int sums = m * 8 / LANES;
    Random random = new Random(form.hashCode());
    double[][] a = matrix(m, k, form.a(), random);
    double[][] b = matrix(k, 8, form.b(), random);
    double[][] c = matrix(m, 8, form.c(), random);
    boolean wide = bits == 64;
    int registerBits = wide ? 64 : 32;
    int sumsInRegister = form.c().equals("f16") ? 2 : 1;
    String ptx =
        kernel(
            form.text(""),
            elementsOfA * bits / registerBits,
            elementsOfB * bits / registerBits,
            sums / sumsInRegister,
            wide,
            form.c().equals("f64"),
            apart);
    try (TestGpu gpu = TestGpu.withPtx(ptx, 1 << 20)) {
      MemorySegment memory = gpu.allocate(4L * PART_BYTES * LANES * WARPS);
      for (int thread = 0; thread < LANES * WARPS; thread++) {
        int group = thread % LANES >> 2;
        int place = thread & 3;
        // The second warp has twice the accumulator.
        int times = 1 + thread / LANES;
        long parts = 4L * PART_BYTES * thread;
        for (int i = 0; i < elementsOfA; i++) {
          double value = a[layout.rowOfA.of(group, place, i)][layout.columnOfA.of(group, place, i)];
          put(memory, parts, i, form.a(), value);
        }
        for (int i = 0; i < elementsOfB; i++) {
          double value = b[layout.rowOfB.of(group, place, i)][group];
          put(memory, parts + PART_BYTES, i, form.b(), value);
        }
        for (int i = 0; i < sums; i++) {
          double value = times * c[i < 2 ? group : group + 8][2 * place + (i & 1)];
          put(memory, parts + 2 * PART_BYTES, i, form.c(), value);
        }
      }
      gpu.run("kernel", TestGpu.blocks(1, LANES * WARPS), memory);
      for (int thread = 0; thread < LANES * WARPS; thread++) {
        int group = thread % LANES >> 2;
        int place = thread & 3;
        for (int i = 0; i < sums; i++) {
          int row = i < 2 ? group : group + 8;
          int column = 2 * place + (i & 1);
          double expected = (1 + thread / LANES) * c[row][column];
          for (int l = 0; l < k; l++) {
            expected += a[row][l] * b[l][column];
          }
          assertThat(decode(memory, 4L * PART_BYTES * thread + 3 * PART_BYTES, i, form.d()))
              .as("lane %d, result %d", thread, i)
              .isEqualTo(expected);
        }
      }
    }
  }

  private static double[][] matrix(int rows, int columns, String type, Random random) {
    double[][] matrix = new double[rows][columns];
    for (double[] row : matrix) {
      for (int i = 0; i < columns; i++) {
        row[i] = number(type, random);
      }
    }
    return matrix;
  }

  /** Runs an instruction on words that are the same in every lane; the first result of lane 0. */
  private static int alike(String instruction, int registers, int a, int b, int c)
      throws Exception {
    String ptx = kernel(instruction, registers, registers / 2, 4, false, false, false);
    try (TestGpu gpu = TestGpu.withPtx(ptx, 1 << 20)) {
      MemorySegment memory = gpu.allocate(4L * PART_BYTES * LANES);
      for (int lane = 0; lane < LANES; lane++) {
        for (int i = 0; i < 8; i++) {
          long at = 4L * PART_BYTES * lane + 4L * i;
          memory.set(ValueLayout.JAVA_INT, at, a);
          memory.set(ValueLayout.JAVA_INT, at + PART_BYTES, b);
          memory.set(ValueLayout.JAVA_INT, at + 2 * PART_BYTES, c);
        }
      }
      gpu.run("kernel", TestGpu.blocks(1, LANES), memory);
      return memory.get(ValueLayout.JAVA_INT, 3 * PART_BYTES);
    }
  }

  @Test
  void mma_wholeNumbersBeyondTheRange_wrapOrSaturate() throws Exception {
    Form form = new Form("m16n8k32", "s32", "s8", "s8", "s32");
    int sum = 32 * 127 * 127;

    assertThat(alike(form.text(""), 4, 0x7F7F7F7F, 0x7F7F7F7F, Integer.MAX_VALUE - 5))
        .isEqualTo(Integer.MAX_VALUE - 5 + sum);
    assertThat(alike(form.text(".satfinite"), 4, 0x7F7F7F7F, 0x7F7F7F7F, Integer.MAX_VALUE - 5))
        .isEqualTo(Integer.MAX_VALUE);
    assertThat(alike(form.text(".satfinite"), 4, 0x7F7F7F7F, 0x81818181, Integer.MIN_VALUE))
        .isEqualTo(Integer.MIN_VALUE);
  }

  @Test
  void mma_infinityTimesZeroAndOverflow_areNanAndInfinity() throws Exception {
    Form form = new Form("m16n8k8", "f32", "tf32", "tf32", "f32");
    int infinity = Float.floatToIntBits(Float.POSITIVE_INFINITY);
    int large = Float.floatToIntBits(0x1p127f);

    assertThat(Float.intBitsToFloat(alike(form.text(""), 4, infinity, 0, 0))).isNaN();
    assertThat(Float.intBitsToFloat(alike(form.text(""), 4, large, large, 0)))
        .isEqualTo(Float.POSITIVE_INFINITY);
  }

  @Test
  void mma_halfResult_isRoundedOnceToTheNearestEven() throws Exception {
    Form form = new Form("m16n8k8", "f16", "f16", "f16", "f16");
    String ptx = form.text("");
    // 8 products of 2^-6 * 2^-8 are 2^-11, half of the last place of 1.
    int small = pair(Float.floatToFloat16(0x1p-6f));
    int smaller = pair(Float.floatToFloat16(0x1p-8f));
    String text = kernel(ptx, 2, 1, 2, false, false, false);
    try (TestGpu gpu = TestGpu.withPtx(text, 1 << 20)) {
      MemorySegment memory = gpu.allocate(4L * PART_BYTES * LANES);
      for (int lane = 0; lane < LANES; lane++) {
        for (int i = 0; i < 2; i++) {
          long at = 4L * PART_BYTES * lane + 4L * i;
          memory.set(ValueLayout.JAVA_INT, at, small);
          memory.set(ValueLayout.JAVA_INT, at + PART_BYTES, smaller);
          memory.set(ValueLayout.JAVA_INT, at + 2 * PART_BYTES, 0x3C01_3C00);
        }
      }
      gpu.run("kernel", TestGpu.blocks(1, LANES), memory);
      assertThat(memory.get(ValueLayout.JAVA_INT, 3 * PART_BYTES)).isEqualTo(0x3C02_3C00);
    }
  }

  @Test
  void mma_doublesInDirectedModes_roundEachFusedStepThatWay() throws Exception {
    double up = Math.nextUp(Math.nextUp(Math.nextUp(Math.nextUp(1.0))));
    double towardZero = 1 - 4 * 0x1p-53;

    assertThat(sumOfTinyProducts("", 1)).isEqualTo(1);
    assertThat(sumOfTinyProducts(".rn", 1)).isEqualTo(1);
    assertThat(sumOfTinyProducts(".rz", 1)).isEqualTo(1);
    assertThat(sumOfTinyProducts(".rm", 1)).isEqualTo(1);
    assertThat(sumOfTinyProducts(".rp", 1)).isEqualTo(up);
    assertThat(sumOfTinyProducts(".rz", -1)).isEqualTo(-towardZero);
    assertThat(sumOfTinyProducts(".rm", -1)).isEqualTo(-1);
  }

  /** An accumulator and four products of 2^-60. */
  private static double sumOfTinyProducts(String rounding, double accumulator) throws Exception {
    Form form = new Form("m8n8k4", "f64", "f64", "f64", "f64");
    String ptx = kernel(form.text("") + rounding, 1, 1, 2, true, true, false);
    try (TestGpu gpu = TestGpu.withPtx(ptx, 1 << 20)) {
      MemorySegment memory = gpu.allocate(4L * PART_BYTES * LANES);
      for (int lane = 0; lane < LANES; lane++) {
        long at = 4L * PART_BYTES * lane;
        memory.set(ValueLayout.JAVA_DOUBLE, at, 0x1p-30);
        memory.set(ValueLayout.JAVA_DOUBLE, at + PART_BYTES, 0x1p-30);
        memory.set(ValueLayout.JAVA_DOUBLE, at + 2 * PART_BYTES, accumulator);
        memory.set(ValueLayout.JAVA_DOUBLE, at + 2 * PART_BYTES + 8, accumulator);
      }
      gpu.run("kernel", TestGpu.blocks(1, LANES), memory);
      return memory.get(ValueLayout.JAVA_DOUBLE, 3 * PART_BYTES);
    }
  }

  private static int pair(short half) {
    return half & 0xFFFF | half << 16;
  }

  /** What {@code ldmatrix} and its kin do with matrices whose elements are their own numbers. */
  @Test
  void ldmatrixAndStmatrix_everyCountAndOrder_moveTheElementsOfTheManual() throws Exception {
    for (int count : new int[] {1, 2, 4}) {
      for (boolean transposed : new boolean[] {false, true}) {
        for (String space : List.of(".shared", "")) {
          moveMatrices(count, transposed, space);
        }
      }
    }
  }

  private static void moveMatrices(int count, boolean transposed, String space) throws Exception {
    String options = "m8n8.x" + count + (transposed ? ".trans" : "") + space + ".b16";
    String address = space.isEmpty() ? "%g" : "%s";
    String ptx =
        """
        .version 9.0
        .target sm_90
        .address_size 64
        .visible .entry kernel(.param .u64 memory)
        {
          .shared .align 16 .b8 from[512];
          .shared .align 16 .b8 to[512];
          .reg .b32 %%t, %%n, %%s, %%x, %%r<4>;
          .reg .b64 %%p, %%q, %%w, %%g;
          mov.u32 %%t, %%tid.x;
          ld.param.u64 %%p, [memory];
          mul.lo.u32 %%x, %%t, 16;
          // Each lane writes the row that it tells of: 8 numbers from 8 * lane on.
          mov.u32 %%s, from;
          add.u32 %%s, %%s, %%x;
          mul.lo.u32 %%n, %%t, 0x80008;
          add.u32 %%n, %%n, 0x10000;
          st.shared.u32 [%%s], %%n;
          add.u32 %%n, %%n, 0x20002;
          st.shared.u32 [%%s+4], %%n;
          add.u32 %%n, %%n, 0x20002;
          st.shared.u32 [%%s+8], %%n;
          add.u32 %%n, %%n, 0x20002;
          st.shared.u32 [%%s+12], %%n;
          cvt.u64.u32 %%w, %%s;
          cvta.shared.u64 %%g, %%w;
          bar.sync 0;
          ldmatrix.sync.aligned.%s %s, [%s];
          mul.wide.u32 %%w, %%t, 16;
          add.s64 %%q, %%p, %%w;
          %s
          mov.u32 %%s, to;
          add.u32 %%s, %%s, %%x;
          cvt.u64.u32 %%w, %%s;
          cvta.shared.u64 %%g, %%w;
          stmatrix.sync.aligned.%s [%s], %s;
          bar.sync 0;
          %s
          ret;
        }
        """
            .formatted(
                options,
                registers("r", count),
                address,
                words(count, "st.global.b32 [%q+{at}], %r{i};"),
                options,
                address,
                registers("r", count),
                words(4, "ld.shared.b32 %n, [%s+{at}]; st.global.b32 [%q+512+{at}], %n;"));
    try (TestGpu gpu = TestGpu.withPtx(ptx, 1 << 20)) {
      MemorySegment memory = gpu.allocate(1024);
      gpu.run("kernel", TestGpu.blocks(1, LANES), memory);
      for (int lane = 0; lane < LANES; lane++) {
        int group = lane >> 2;
        int place = lane & 3;
        for (int i = 0; i < count; i++) {
          for (int half = 0; half < 2; half++) {
            int row = transposed ? 2 * place + half : group;
            int column = transposed ? group : 2 * place + half;
            assertThat(memory.get(ValueLayout.JAVA_SHORT, 16L * lane + 4L * i + 2 * half))
                .as("%s: lane %d, register %d, half %d", options, lane, i, half)
                .isEqualTo((short) (64 * i + 8 * row + column));
          }
        }
        for (int column = 0; column < 8 && lane < 8 * count; column++) {
          assertThat(memory.get(ValueLayout.JAVA_SHORT, 512 + 16L * lane + 2 * column))
              .as("%s: row %d stored", options, lane)
              .isEqualTo((short) (8 * lane + column));
        }
      }
    }
  }

  private static String words(int count, String line) {
    StringBuilder text = new StringBuilder();
    for (int i = 0; i < count; i++) {
      text.append(line.replace("{at}", "" + 4 * i).replace("{i}", "" + i)).append('\n');
    }
    return text.toString();
  }

  @Test
  void movmatrix_ofNumberedElements_transposesThem() throws Exception {
    String ptx =
        """
        .version 9.0
        .target sm_90
        .address_size 64
        .visible .entry kernel(.param .u64 memory)
        {
          .reg .b32 %t, %x;
          .reg .b64 %p, %w;
          mov.u32 %t, %tid.x;
          ld.param.u64 %p, [memory];
          mul.wide.u32 %w, %t, 4;
          add.s64 %p, %p, %w;
          mul.lo.u32 %x, %t, 0x20002;
          add.u32 %x, %x, 0x10000;
          movmatrix.sync.aligned.m8n8.trans.b16 %x, %x;
          st.global.b32 [%p], %x;
          ret;
        }
        """;
    try (TestGpu gpu = TestGpu.withPtx(ptx, 1 << 20)) {
      MemorySegment memory = gpu.allocate(128);
      gpu.run("kernel", TestGpu.blocks(1, LANES), memory);
      for (int row = 0; row < 8; row++) {
        for (int column = 0; column < 8; column++) {
          assertThat(memory.getAtIndex(ValueLayout.JAVA_SHORT, 8 * row + column))
              .isEqualTo((short) (8 * column + row));
        }
      }
    }
  }

  /** Fragments of {@code wmma}: how many registers of a, b and the accumulator a lane holds. */
  private record Fragments(
      String shape,
      String a,
      String c,
      String d,
      int registersOfA,
      int registersOfB,
      String rounding) {
    Fragments(String shape, String a, String d, int registersOfA, int registersOfB) {
      this(shape, a, d, d, registersOfA, registersOfB, "");
    }

    Form form() {
      return new Form(shape, d, a, a, c);
    }

    /** Registers of an accumulator. */
    int registers(String sum) {
      return sum.equals("f16") ? 4 : sum.equals("f64") ? 2 : 8;
    }

    /** As nvcc writes them, rounding last. */
    String types() {
      String types = a.equals("f16") ? String.join(".", d, c) : String.join(".", d, a, a, c);
      return types + rounding;
    }
  }

  private static List<Fragments> fragments() {
    List<Fragments> all = new ArrayList<>();
    for (String shape : List.of("m16n16k16", "m32n8k16", "m8n32k16")) {
      all.add(new Fragments(shape, "f16", "f32", 8, 8));
      all.add(new Fragments(shape, "f16", "f16", 8, 8));
      all.add(new Fragments(shape, "f16", "f16", "f32", 8, 8, ""));
      all.add(new Fragments(shape, "f16", "f32", "f16", 8, 8, ""));
      int a = shape.startsWith("m16") ? 2 : shape.startsWith("m32") ? 4 : 1;
      int b = shape.startsWith("m16") ? 2 : shape.startsWith("m32") ? 1 : 4;
      all.add(new Fragments(shape, "s8", "s32", a, b));
      all.add(new Fragments(shape, "u8", "s32", a, b));
      all.add(new Fragments(shape, "bf16", "f32", 2 * a, 2 * b));
    }
    all.add(new Fragments("m16n16k8", "tf32", "f32", 4, 4));
    all.add(new Fragments("m8n8k4", "f64", "f64", 1, 1));
    for (String rounding : List.of(".rn", ".rz", ".rm", ".rp")) {
      all.add(new Fragments("m8n8k4", "f64", "f64", "f64", 1, 1, rounding));
    }
    return all;
  }

  @TestFactory
  Stream<DynamicTest> wmma_everyForm_isTheProductAndTheSum() {
    return fragments().stream()
        .flatMap(some ->
            Stream.of("row row", "row col", "col row", "col col")
                .map(layouts ->
                    DynamicTest.dynamicTest(
                        some + " " + layouts, () -> check(some, layouts.split(" ")))));
  }

  private static void check(Fragments some, String[] layouts) throws Exception {
    Form form = some.form();
    int m = form.side('m');
    int n = form.side('n');
    int k = form.side('k');
    boolean wide = some.a().equals("f64");
    Random random = new Random(some.hashCode());
    double[][] a = matrix(m, k, some.a(), random);
    double[][] b = matrix(k, n, some.a(), random);
    double[][] c = matrix(m, n, some.c(), random);
    int pitch = 40;
    int size = 40 * 32 * 8;
    String ptx =
        """
        .version 9.0
        .target sm_90
        .address_size 64
        .visible .entry kernel(.param .u64 memory)
        {
          .shared .align 16 .b8 shared[%d];
          .reg .b32 %%s, %%i;
          .reg .pred %%more;
          .reg .b64 %%p, %%w, %%v;
          .reg .%s %%a<8>, %%b<8>, %%c<8>, %%d<8>;
          ld.param.u64 %%p, [memory];
          // The first matrix is copied to shared memory.
          mov.u32 %%i, %%tid.x;
          mul.lo.u32 %%i, %%i, 8;
        COPY:
          cvt.u64.u32 %%w, %%i;
          add.s64 %%w, %%p, %%w;
          ld.global.b64 %%v, [%%w];
          mov.u32 %%s, shared;
          add.u32 %%s, %%s, %%i;
          st.shared.b64 [%%s], %%v;
          add.u32 %%i, %%i, 256;
          setp.lt.u32 %%more, %%i, %d;
          @%%more bra COPY;
          bar.sync 0;
          mov.u32 %%s, shared;
          wmma.load.a.sync.aligned.%s.%s.shared.%s %s, [%%s], %d;
          wmma.load.b.sync.aligned.%s.%s.global.%s %s, [%%p+%d], %d;
          wmma.load.c.sync.aligned.row.%s.%s %s, [%%p+%d], %d;
          wmma.mma.sync.aligned.%s.%s.%s.%s %s, %s, %s, %s;
          wmma.store.d.sync.aligned.col.%s.global.%s [%%p+%d], %s, %d;
          ret;
        }
        """
            .formatted(
                size,
                wide ? "b64" : "b32",
                size,
                layouts[0],
                some.shape(),
                some.a(),
                registers("a", some.registersOfA()),
                pitch,
                layouts[1],
                some.shape(),
                some.a(),
                registers("b", some.registersOfB()),
                size,
                pitch,
                some.shape(),
                some.c(),
                registers("c", some.registers(some.c())),
                2 * size,
                pitch,
                layouts[0],
                layouts[1],
                some.shape(),
                some.types(),
                registers("d", some.registers(some.d())),
                registers("a", some.registersOfA()),
                registers("b", some.registersOfB()),
                registers("c", some.registers(some.c())),
                some.shape(),
                some.d(),
                3 * size,
                registers("d", some.registers(some.d())),
                pitch);
    try (TestGpu gpu = TestGpu.withPtx(ptx, 1 << 20)) {
      MemorySegment memory = gpu.allocate(4L * size);
      fill(memory, 0, a, some.a(), layouts[0], pitch);
      fill(memory, size, b, some.a(), layouts[1], pitch);
      fill(memory, 2L * size, c, some.c(), "row", pitch);
      gpu.run("kernel", TestGpu.blocks(1, LANES), memory);
      for (int row = 0; row < m; row++) {
        for (int column = 0; column < n; column++) {
          double expected = c[row][column];
          for (int l = 0; l < k; l++) {
            expected += a[row][l] * b[l][column];
          }
          assertThat(decode(memory, 3L * size, column * pitch + row, some.d()))
              .as("row %d, column %d", row, column)
              .isEqualTo(expected);
        }
      }
    }
  }

  @Test
  void wmma_loadAndStoreWithoutMultiplication_copyTheMatrixWhateverItsAlignment() throws Exception {
    for (int offset : new int[] {0, 2, 4, 8, 16}) {
      for (String layout : List.of("row", "col")) {
        String ptx =
            """
            .version 9.0
            .target sm_90
            .address_size 64
            .visible .entry kernel(.param .u64 memory)
            {
              .reg .b64 %%p;
              .reg .b32 %%c<4>;
              ld.param.u64 %%p, [memory];
              wmma.load.c.sync.aligned.%1$s.m8n32k16.global.f16 %2$s, [%%p+%3$d], 40;
              wmma.store.d.sync.aligned.%1$s.m8n32k16.global.f16 [%%p+%4$d], %2$s, 40;
              ret;
            }
            """
                .formatted(layout, registers("c", 4), offset, 4096 + offset);
        try (TestGpu gpu = TestGpu.withPtx(ptx, 1 << 20)) {
          MemorySegment memory = gpu.allocate(8192);
          boolean byRows = layout.equals("row");
          int lines = byRows ? 8 : 32;
          int line = byRows ? 32 : 8;
          for (int i = 0; i < 40 * 32; i++) {
            memory.set(ValueLayout.JAVA_SHORT, offset + 2L * i, (short) (i + 1));
          }
          gpu.run("kernel", TestGpu.blocks(1, LANES), memory);
          for (int i = 0; i < 40 * 32; i++) {
            boolean inside = i / 40 < lines && i % 40 < line;
            assertThat(memory.get(ValueLayout.JAVA_SHORT, 4096 + offset + 2L * i))
                .as("%s, offset %d, element %d", layout, offset, i)
                .isEqualTo((short) (inside ? i + 1 : 0));
          }
        }
      }
    }
  }

  private static void fill(
      MemorySegment memory, long at, double[][] matrix, String type, String layout, int pitch) {
    for (int row = 0; row < matrix.length; row++) {
      for (int column = 0; column < matrix[row].length; column++) {
        int index = layout.equals("row") ? row * pitch + column : column * pitch + row;
        put(memory, at, index, type, matrix[row][column]);
      }
    }
  }
}
