// SPDX-License-Identifier: Apache-2.0
package io.gpupool.soft.exec.matrix;

import io.gpupool.soft.exec.access.Fragments;
import io.gpupool.soft.exec.arithmetic.Doubles;
import io.gpupool.soft.exec.arithmetic.Halves;
import io.gpupool.soft.exec.arithmetic.Rounding;
import io.gpupool.soft.exec.arithmetic.SmallFloats;
import io.gpupool.soft.exec.launch.DeviceFaultException;
import io.gpupool.soft.exec.launch.KernelFaultException;
import io.gpupool.soft.exec.memory.NativeMemory;
import java.util.Arrays;

/**
 * Tensor-core instructions, worked out for a whole warp once every lane has laid down its part of
 * the matrices. Products are exact and summed in double precision, in the order of k, beginning
 * with the accumulator; the sum is rounded once, to the nearest. Owned by the worker thread that
 * runs the block.
 *
 * <p>In what follows, {@code group} is a lane's number divided by 4 and {@code place} the rest, as
 * in the fragments of {@code mma} in the PTX manual. The layout of {@code wmma} fragments is not
 * told to programs: see {@link Fragments}.
 */
public final class Matrices {
  /** Words that a lane lays down: those of a, b and the accumulator, where results come to lie. */
  public static final int LANE_WORDS = 32;

  public static final int A = 0;
  public static final int B = 16;
  public static final int C = 24;

  private static final int WARP = 32;
  private static final int MULTIPLY = 1;
  private static final int LOAD = 2;
  private static final int STORE = 3;
  private static final int TRANSPOSE = 4;
  private static final int KIND_SHIFT = 24;
  private static final int FRAGMENTS = 1 << 22;
  private static final int SATURATE = 1 << 23;
  private static final int TRANSPOSED = 1 << 8;
  private static final int KIND_MASK = 15;
  private static final int LEFT_BY_COLUMNS = 1 << 28;
  private static final int RIGHT_BY_COLUMNS = 1 << 29;
  private static final int ACCUMULATOR_SHIFT = 16;
  private static final int ROUNDING_SHIFT = 20;

  private static final int TF32_MASK = ~0x1FFF;
  private static final int MOST_ROWS = 32;
  private static final int MOST_DEPTH = 32;

  private final double[] a = new double[MOST_ROWS * MOST_DEPTH];
  private final double[] b = new double[MOST_ROWS * MOST_DEPTH];
  private final double[] c = new double[MOST_ROWS * MOST_ROWS];
  private int[] words = new int[0];

  /** Checked native addresses of the rows that threads told for the operation they came to. */
  private long[] rows = new long[0];

  /**
   * The number of a multiplication.
   *
   * @param accumulator type that each sum begins with
   * @param sum type of the results
   * @param rounding of doubles, one of {@link Rounding}'s modes; all else is rounded to the nearest
   * @param saturate whether sums of whole numbers are clamped
   */
  public static int multiply(
      MatrixShape shape,
      MatrixType left,
      MatrixType right,
      MatrixType accumulator,
      MatrixType sum,
      int rounding,
      boolean saturate) {
    return MULTIPLY << KIND_SHIFT
        | (saturate ? SATURATE : 0)
        | rounding << ROUNDING_SHIFT
        | accumulator.ordinal() << ACCUMULATOR_SHIFT
        | shape.ordinal() << 12
        | left.ordinal() << 8
        | right.ordinal() << 4
        | sum.ordinal();
  }

  /** The number of a multiplication of fragments of {@code wmma}. */
  public static int ofFragments(int multiplication, boolean leftByColumns, boolean rightByColumns) {
    return multiplication
        | FRAGMENTS
        | (leftByColumns ? LEFT_BY_COLUMNS : 0)
        | (rightByColumns ? RIGHT_BY_COLUMNS : 0);
  }

  /** The number of {@code ldmatrix} with so many matrices. */
  public static int load(int count, boolean transposed) {
    return LOAD << KIND_SHIFT | (transposed ? TRANSPOSED : 0) | count;
  }

  /** The number of {@code stmatrix} with so many matrices. */
  public static int store(int count, boolean transposed) {
    return STORE << KIND_SHIFT | (transposed ? TRANSPOSED : 0) | count;
  }

  /** The number of {@code movmatrix}. */
  public static int transpose() {
    return TRANSPOSE << KIND_SHIFT;
  }

  public static boolean knows(int operation) {
    return operation >>> KIND_SHIFT != 0;
  }

  /** Makes room for the lanes of a thread's warp, and those before. */
  private int at(int thread) {
    int end = ((thread | WARP - 1) + 1) * LANE_WORDS;
    if (words.length < end) {
      words = Arrays.copyOf(words, Math.max(end, 2 * words.length));
      rows = Arrays.copyOf(rows, words.length / LANE_WORDS);
    }
    return thread * LANE_WORDS;
  }

  public void row(int thread, long address) {
    at(thread);
    rows[thread] = address;
  }

  /** The words of all lanes, with room for those of a thread's warp. */
  public int[] words(int thread) {
    at(thread);
    return words;
  }

  public long laidWide(int thread, int index) {
    int at = thread * LANE_WORDS + index;
    return words[at] & 0xFFFF_FFFFL | (long) words[at + 1] << 32;
  }

  /**
   * Works out an operation.
   *
   * @param first thread of lane 0
   * @param lanes those that take part, which must be all: of others there is neither row nor word
   */
  public void compute(int operation, int first, int lanes) {
    if (lanes != -1) {
      throw new DeviceFaultException(
          KernelFaultException.ILLEGAL_INSTRUCTION,
          "matrix instruction by lanes 0x%08x only; all 32 threads of a warp must execute it"
              .formatted(lanes));
    }
    at(first);
    int count = operation & 15;
    boolean transposed = (operation & TRANSPOSED) != 0;
    switch (operation >>> KIND_SHIFT & KIND_MASK) {
      case LOAD -> load(first, count, transposed);
      case STORE -> store(first, count, transposed);
      case TRANSPOSE -> transpose(first);
      default -> multiply(operation, first);
    }
  }

  private void load(int first, int count, boolean transposed) {
    for (int lane = 0; lane < WARP; lane++) {
      int group = lane >> 2;
      int place = lane & 3;
      for (int i = 0; i < count; i++) {
        int row = first + 8 * i;
        int word;
        if (transposed) {
          int low = NativeMemory.getShort(rows[row + 2 * place] + 2 * group) & 0xFFFF;
          word = low | NativeMemory.getShort(rows[row + 2 * place + 1] + 2 * group) << 16;
        } else {
          word = NativeMemory.getInt(rows[row + group] + 4 * place);
        }
        words[(first + lane) * LANE_WORDS + C + i] = word;
      }
    }
  }

  private void store(int first, int count, boolean transposed) {
    for (int lane = 0; lane < WARP; lane++) {
      int group = lane >> 2;
      int place = lane & 3;
      for (int i = 0; i < count; i++) {
        int row = first + 8 * i;
        int word = words[(first + lane) * LANE_WORDS + C + i];
        if (transposed) {
          NativeMemory.putShort(rows[row + 2 * place] + 2 * group, word);
          NativeMemory.putShort(rows[row + 2 * place + 1] + 2 * group, word >>> 16);
        } else {
          NativeMemory.putInt(rows[row + group] + 4 * place, word);
        }
      }
    }
  }

  private void transpose(int first) {
    int[] from = new int[WARP];
    for (int lane = 0; lane < WARP; lane++) {
      from[lane] = words[(first + lane) * LANE_WORDS + C];
    }
    for (int lane = 0; lane < WARP; lane++) {
      int group = lane >> 2;
      int row = 2 * (lane & 3);
      int shift = 16 * (group & 1);
      int low = from[4 * row + (group >> 1)] >>> shift & 0xFFFF;
      int high = from[4 * (row + 1) + (group >> 1)] >>> shift;
      words[(first + lane) * LANE_WORDS + C] = low | high << 16;
    }
  }

  private void multiply(int operation, int first) {
    MatrixShape shape = MatrixShape.ALL[operation >>> 12 & 15];
    MatrixType left = MatrixType.ALL[operation >>> 8 & 15];
    MatrixType right = MatrixType.ALL[operation >>> 4 & 15];
    MatrixType accumulator = MatrixType.ALL[operation >>> ACCUMULATOR_SHIFT & 15];
    MatrixType sum = MatrixType.ALL[operation & 15];
    if ((operation & FRAGMENTS) != 0) {
      boolean leftByColumns = (operation & LEFT_BY_COLUMNS) != 0;
      boolean rightByColumns = (operation & RIGHT_BY_COLUMNS) != 0;
      gather(first, A, left, shape.m(), shape.k(), leftByColumns, a);
      gather(first, B, right, shape.k(), shape.n(), rightByColumns, b);
      gather(first, C, accumulator, shape.m(), shape.n(), false, c);
    } else {
      gather(first, shape, left, right, accumulator);
    }
    int rounding = operation >>> ROUNDING_SHIFT & 3;
    if (rounding != Rounding.NEAREST) {
      sumRounded(shape, rounding);
    } else {
      sum(shape, left == MatrixType.F64);
    }
    boolean saturate = (operation & SATURATE) != 0;
    if ((operation & FRAGMENTS) != 0) {
      int held = shape.m() * shape.n() / WARP;
      for (int lane = 0; lane < WARP; lane++) {
        for (int i = 0; i < held; i++) {
          put(first + lane, i, sum, c[lane * held + i], saturate);
        }
      }
    } else {
      for (int lane = 0; lane < WARP; lane++) {
        for (int i = 0; i < shape.m() / 4; i++) {
          int row = (lane >> 2) + 8 * (i >> 1);
          put(first + lane, i, sum, c[row * 8 + 2 * (lane & 3) + (i & 1)], saturate);
        }
      }
    }
  }

  /** The matrices of {@code mma}. */
  private void gather(
      int first, MatrixShape shape, MatrixType left, MatrixType right, MatrixType sum) {
    int depth = shape.k();
    int each = left.perRegister();
    int wordsOfRegister = left == MatrixType.F64 ? 2 : 1;
    int blocks = shape.m() / 8;
    int registers = depth / (4 * each);
    for (int lane = 0; lane < WARP; lane++) {
      int at = (first + lane) * LANE_WORDS;
      int group = lane >> 2;
      int place = lane & 3;
      for (int r = 0; r < registers; r++) {
        int k = (4 * r + place) * each;
        for (int block = 0; block < blocks; block++) {
          int word = at + A + (r * blocks + block) * wordsOfRegister;
          get(word, left, a, (group + 8 * block) * depth + k, 1);
        }
        get(at + B + r * wordsOfRegister, right, b, k * 8 + group, 8);
      }
      int together = sum.perRegister();
      int wordsOfSum = sum == MatrixType.F64 ? 2 : 1;
      for (int i = 0; i < shape.m() / 4; i += together) {
        int word = at + C + i / together * wordsOfSum;
        get(word, sum, c, (group + 8 * (i >> 1)) * 8 + 2 * place + (i & 1), 1);
      }
    }
  }

  /** A matrix of {@code wmma}. */
  private void gather(
      int first,
      int part,
      MatrixType type,
      int rows,
      int columns,
      boolean byColumns,
      double[] matrix) {
    int size = rows * columns;
    int each = type.perRegister();
    int held = type.held(size, part != C);
    int wordsOfRegister = type == MatrixType.F64 ? 2 : 1;
    double[] elements = byColumns ? c : matrix;
    for (int p = 0, lane = first; p < size; lane++) {
      int word = lane * LANE_WORDS + part;
      for (int i = 0; i < held; i += each) {
        get(word, type, elements, p, 1);
        word += wordsOfRegister;
        p += each;
      }
    }
    if (byColumns) {
      // The accumulator, whose place the elements have taken, is gathered last.
      for (int column = 0; column < columns; column++) {
        for (int row = 0; row < rows; row++) {
          matrix[row * columns + column] = elements[column * rows + row];
        }
      }
    }
  }

  /** Columns that are summed up at once; all shapes have a multiple of them. */
  private static final int TOGETHER = 8;

  private void sum(MatrixShape shape, boolean fused) {
    int columns = shape.n();
    for (int row = 0; row < shape.m(); row++) {
      for (int column = 0; column < columns; column += TOGETHER) {
        if (fused) {
          sumFused(row * shape.k(), shape.k(), column, columns, row * columns + column);
        } else {
          sum(row * shape.k(), shape.k(), column, columns, row * columns + column);
        }
      }
    }
  }

  /** Eight sums, written out so that they stay in registers. */
  private void sum(int x, int depth, int column, int columns, int to) {
    double c0 = c[to];
    double c1 = c[to + 1];
    double c2 = c[to + 2];
    double c3 = c[to + 3];
    double c4 = c[to + 4];
    double c5 = c[to + 5];
    double c6 = c[to + 6];
    double c7 = c[to + 7];
    for (int k = 0, y = column; k < depth; k++, y += columns) {
      double value = a[x + k];
      c0 += value * b[y];
      c1 += value * b[y + 1];
      c2 += value * b[y + 2];
      c3 += value * b[y + 3];
      c4 += value * b[y + 4];
      c5 += value * b[y + 5];
      c6 += value * b[y + 6];
      c7 += value * b[y + 7];
    }
    c[to] = c0;
    c[to + 1] = c1;
    c[to + 2] = c2;
    c[to + 3] = c3;
    c[to + 4] = c4;
    c[to + 5] = c5;
    c[to + 6] = c6;
    c[to + 7] = c7;
  }

  private void sumFused(int x, int depth, int column, int columns, int to) {
    for (int k = 0; k < depth; k++) {
      for (int i = 0; i < TOGETHER; i++) {
        c[to + i] = Math.fma(a[x + k], b[k * columns + column + i], c[to + i]);
      }
    }
  }

  /** As above for doubles in another rounding mode than to the nearest. */
  private void sumRounded(MatrixShape shape, int rounding) {
    int depth = shape.k();
    int columns = shape.n();
    for (int to = 0; to < shape.m() * columns; to++) {
      for (int k = 0; k < depth; k++) {
        double x = a[to / columns * depth + k];
        c[to] = Doubles.fma(x, b[k * columns + to % columns], c[to], rounding);
      }
    }
  }

  /** The elements of a register, which are so many places apart in the matrix. */
  private void get(int word, MatrixType type, double[] matrix, int at, int apart) {
    int bits = words[word];
    switch (type) {
      case F64 ->
          matrix[at] = Double.longBitsToDouble(bits & 0xFFFF_FFFFL | (long) words[word + 1] << 32);
      case F16 -> {
        matrix[at] = Float.float16ToFloat((short) bits);
        matrix[at + apart] = Float.float16ToFloat((short) (bits >>> 16));
      }
      case BF16 -> {
        matrix[at] = Float.intBitsToFloat(bits << 16);
        matrix[at + apart] = Float.intBitsToFloat(bits & 0xFFFF_0000);
      }
      case TF32 -> matrix[at] = Float.intBitsToFloat(bits & TF32_MASK);
      case F32 -> matrix[at] = Float.intBitsToFloat(bits);
      case S32 -> matrix[at] = bits;
      case S8 -> {
        for (int e = 0; e < 4; e++) {
          matrix[at + e * apart] = (byte) (bits >>> 8 * e);
        }
      }
      case U8 -> {
        for (int e = 0; e < 4; e++) {
          matrix[at + e * apart] = bits >>> 8 * e & 255;
        }
      }
      case E4M3, E5M2 -> {
        int format = type == MatrixType.E4M3 ? SmallFloats.E4M3 : SmallFloats.E5M2;
        for (int e = 0; e < 4; e++) {
          matrix[at + e * apart] = SmallFloats.toFloat(bits >>> 8 * e & 255, format);
        }
      }
    }
  }

  private void put(int thread, int index, MatrixType type, double value, boolean saturate) {
    int at = thread * LANE_WORDS + C;
    switch (type) {
      case F64 -> {
        long bits = Double.doubleToRawLongBits(value);
        words[at + 2 * index] = (int) bits;
        words[at + 2 * index + 1] = (int) (bits >>> 32);
      }
      case F16 -> {
        int shift = 16 * (index & 1);
        int half = (Halves.ofDouble(value, Halves.F16) & 0xFFFF) << shift;
        words[at + index / 2] = words[at + index / 2] & ~(0xFFFF << shift) | half;
      }
      case S32 -> words[at + index] = saturate ? (int) value : (int) (long) value;
      default -> words[at + index] = Float.floatToRawIntBits((float) value);
    }
  }
}
