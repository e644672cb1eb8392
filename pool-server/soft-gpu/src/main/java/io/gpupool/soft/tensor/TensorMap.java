// SPDX-License-Identifier: Apache-2.0
package io.gpupool.soft.tensor;

import io.gpupool.soft.CudaStatus;
import io.gpupool.soft.GpuException;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.ByteOrder;
import java.util.Optional;

/**
 * A tensor in global memory and a box of it, which a kernel copies at one go. Dimension 0 is the
 * innermost, whose elements lie side by side. Immutable.
 *
 * <pre>
 *   0 u32 magic       4 u8 element   5 u8 rank   6 u8 swizzle   7 u8 NaN where the tensor has none
 *   8 u64 address
 *  16 u64 size of each of 5 dimensions, in elements
 *  56 u64 stride of dimensions 1 to 4, in bytes
 *  88 u16 size of the box in each of 5 dimensions
 *  98 u8 step in each of 5 dimensions
 * </pre>
 *
 * <p>A kernel gets these bytes as it likes, so that nothing in them is trusted when they are read.
 */
public final class TensorMap {
  public static final int BYTES = 128;
  public static final int MAX_RANK = 5;

  private static final int MAGIC = 0x4D54_5047;
  private static final int ADDRESS_OFFSET = 8;
  private static final int DIMS_OFFSET = 16;
  private static final int STRIDES_OFFSET = 56;
  private static final int BOX_OFFSET = 88;
  private static final int STEPS_OFFSET = 98;

  private static final int ALIGNMENT = 16;
  private static final long MAX_DIM = 1L << 32;
  private static final long MAX_STRIDE = 1L << 40;
  private static final int MAX_BOX = 256;
  private static final int MAX_STEP = 8;
  private static final int L2_PROMOTIONS = 4;

  private static final ValueLayout.OfInt INT =
      ValueLayout.JAVA_INT_UNALIGNED.withOrder(ByteOrder.LITTLE_ENDIAN);
  private static final ValueLayout.OfLong LONG =
      ValueLayout.JAVA_LONG_UNALIGNED.withOrder(ByteOrder.LITTLE_ENDIAN);
  private static final ValueLayout.OfShort SHORT =
      ValueLayout.JAVA_SHORT_UNALIGNED.withOrder(ByteOrder.LITTLE_ENDIAN);

  private final TensorElement element;
  private final Swizzle swizzle;
  private final boolean nanOutside;
  private final long address;
  private final long[] dims;
  private final long[] strides;
  private final int[] box;
  private final int[] steps;

  /** A tiled box as {@code cuTensorMapEncodeTiled} takes it, enumerations as numbers. */
  public record Tiled(
      int element,
      long address,
      Shape tensor,
      Box box,
      int interleave,
      int swizzle,
      int promotion,
      int fill) {}

  /**
   * The shape of a tensor.
   *
   * @param dims elements in each dimension
   * @param strides bytes from an element to the next in each dimension but the first
   */
  public record Shape(long[] dims, long[] strides) {}

  /**
   * The box of a tensor that is copied.
   *
   * @param dims elements in each dimension, those that are left out included
   * @param steps elements from one that the box has to the next in each dimension
   */
  public record Box(int[] dims, int[] steps) {}

  private TensorMap(
      TensorElement element,
      Swizzle swizzle,
      boolean nanOutside,
      long address,
      long[] dims,
      long[] strides,
      int[] box,
      int[] steps) {
    this.element = element;
    this.swizzle = swizzle;
    this.nanOutside = nanOutside;
    this.address = address;
    this.dims = dims;
    this.strides = strides;
    this.box = box;
    this.steps = steps;
  }

  /**
   * The map of a box.
   *
   * @throws GpuException INVALID_VALUE where cuda.h says so; NOT_SUPPORTED for interleaved layouts
   *     and what needs compute capability 10.0
   */
  public static TensorMap of(Tiled tiled) {
    int rank = tiled.tensor().dims().length;
    require(rank >= 1 && rank <= MAX_RANK, "a tensor has 1 to 5 dimensions, not " + rank);
    TensorElement element =
        named(TensorElement.values(), tiled.element(), TensorElement.PACKED_TYPES, "type");
    Swizzle swizzle = named(Swizzle.values(), tiled.swizzle(), Swizzle.ATOM_SWIZZLES, "swizzle");
    require(tiled.interleave() >= 0 && tiled.interleave() <= 2, "an unknown interleaved layout");
    if (tiled.interleave() != 0) {
      throw new GpuException(CudaStatus.NOT_SUPPORTED, "tensors of interleaved layouts");
    }
    require(tiled.promotion() >= 0 && tiled.promotion() < L2_PROMOTIONS, "an unknown L2 promotion");
    require(tiled.fill() == 0 || tiled.fill() == 1 && element.isReal(), "a fill it cannot have");
    int[] steps = tiled.box().steps().clone();
    steps[0] = 1;
    TensorMap map =
        new TensorMap(
            element,
            swizzle,
            tiled.fill() == 1,
            tiled.address(),
            tiled.tensor().dims().clone(),
            tiled.tensor().strides().clone(),
            tiled.box().dims().clone(),
            steps);
    map.wrong()
        .ifPresent(what -> {
          throw new GpuException(CudaStatus.INVALID_VALUE, what);
        });
    return map;
  }

  private static <E> E named(E[] all, int number, int more, String what) {
    require(number >= 0 && number < all.length + more, "an unknown " + what + ": " + number);
    if (number >= all.length) {
      throw new GpuException(
          CudaStatus.NOT_SUPPORTED, "tensor map " + what + " " + number + " of capability 10.0");
    }
    return all[number];
  }

  private static void require(boolean condition, String message) {
    if (!condition) {
      throw new GpuException(CudaStatus.INVALID_VALUE, message);
    }
  }

  /** Returns the fault of the numbers, if there is one. */
  private Optional<String> wrong() {
    if (address % ALIGNMENT != 0 || address == 0) {
      return Optional.of("a tensor at 0x%x, not aligned to 16 bytes".formatted(address));
    }
    for (int d = 0; d < rank(); d++) {
      if (dims[d] < 1 || dims[d] > MAX_DIM) {
        return Optional.of("dimension " + d + " has " + dims[d] + " elements");
      }
      if (box[d] < 1 || box[d] > MAX_BOX) {
        return Optional.of("a box of " + box[d] + " elements in dimension " + d);
      }
      if (steps[d] < 1 || steps[d] > MAX_STEP) {
        return Optional.of("a step of " + steps[d] + " elements in dimension " + d);
      }
      if (d > 0 && (stride(d) < 0 || stride(d) >= MAX_STRIDE || stride(d) % ALIGNMENT != 0)) {
        return Optional.of("a stride of " + stride(d) + " bytes in dimension " + d);
      }
    }
    int rowBytes = rowBytes();
    if (rowBytes % ALIGNMENT != 0) {
      return Optional.of("rows of " + rowBytes + " bytes, no multiple of 16");
    }
    return swizzle != Swizzle.NONE && rowBytes > swizzle.spanBytes()
        ? Optional.of("rows of " + rowBytes + " bytes, longer than their swizzle")
        : Optional.empty();
  }

  /** Reads what {@link #write} wrote; empty if this is no tensor map. */
  public static Optional<TensorMap> read(MemorySegment at) {
    int element = at.get(ValueLayout.JAVA_BYTE, 4);
    int rank = at.get(ValueLayout.JAVA_BYTE, 5);
    int swizzle = at.get(ValueLayout.JAVA_BYTE, 6);
    if (at.get(INT, 0) != MAGIC
        || element < 0
        || element >= TensorElement.values().length
        || rank < 1
        || rank > MAX_RANK
        || swizzle < 0
        || swizzle >= Swizzle.values().length) {
      return Optional.empty();
    }
    long[] dims = new long[rank];
    long[] strides = new long[rank - 1];
    int[] box = new int[rank];
    int[] steps = new int[rank];
    for (int d = 0; d < rank; d++) {
      dims[d] = at.get(LONG, DIMS_OFFSET + d * 8L);
      box[d] = at.get(SHORT, BOX_OFFSET + d * 2L);
      steps[d] = at.get(ValueLayout.JAVA_BYTE, STEPS_OFFSET + d);
      if (d > 0) {
        strides[d - 1] = at.get(LONG, STRIDES_OFFSET + (d - 1) * 8L);
      }
    }
    TensorMap map =
        new TensorMap(
            TensorElement.values()[element],
            Swizzle.values()[swizzle],
            at.get(ValueLayout.JAVA_BYTE, 7) != 0,
            at.get(LONG, ADDRESS_OFFSET),
            dims,
            strides,
            box,
            steps);
    return map.wrong().isEmpty() ? Optional.of(map) : Optional.empty();
  }

  /** Writes all 128 bytes. */
  public void write(MemorySegment at) {
    at.asSlice(0, BYTES).fill((byte) 0);
    at.set(INT, 0, MAGIC);
    at.set(ValueLayout.JAVA_BYTE, 4, (byte) element.ordinal());
    at.set(ValueLayout.JAVA_BYTE, 5, (byte) rank());
    at.set(ValueLayout.JAVA_BYTE, 6, (byte) swizzle.ordinal());
    at.set(ValueLayout.JAVA_BYTE, 7, (byte) (nanOutside ? 1 : 0));
    at.set(LONG, ADDRESS_OFFSET, address);
    for (int d = 0; d < rank(); d++) {
      at.set(LONG, DIMS_OFFSET + d * 8L, dims[d]);
      at.set(SHORT, BOX_OFFSET + d * 2L, (short) box[d]);
      at.set(ValueLayout.JAVA_BYTE, STEPS_OFFSET + d, (byte) steps[d]);
      if (d > 0) {
        at.set(LONG, STRIDES_OFFSET + (d - 1) * 8L, stride(d));
      }
    }
  }

  /** The same box of a tensor elsewhere. */
  public TensorMap at(long otherAddress) {
    require(otherAddress % ALIGNMENT == 0 && otherAddress != 0, "a tensor at no 16-byte boundary");
    return new TensorMap(element, swizzle, nanOutside, otherAddress, dims, strides, box, steps);
  }

  public int rank() {
    return dims.length;
  }

  public TensorElement element() {
    return element;
  }

  public Swizzle swizzle() {
    return swizzle;
  }

  /** The bits that stand for elements that the tensor does not have. */
  public long fillBits() {
    return nanOutside ? element.nanBits() : 0;
  }

  public long address() {
    return address;
  }

  /** Elements of the tensor in a dimension. */
  public long dim(int dimension) {
    return dims[dimension];
  }

  /** Bytes from an element to the next in a dimension. */
  public long stride(int dimension) {
    return dimension == 0 ? element.bytes() : strides[dimension - 1];
  }

  /** Elements from one that the box has to the next in a dimension. */
  public int step(int dimension) {
    return steps[dimension];
  }

  /** Elements that the box has in a dimension. */
  public int count(int dimension) {
    return Math.ceilDiv(box[dimension], steps[dimension]);
  }

  /** Bytes of a row of the box in shared memory. */
  public int rowBytes() {
    return count(0) * element.bytes();
  }

  /** Rows of the box, of which there may be more than shared memory can take. */
  public long rows() {
    long rows = 1;
    for (int d = 1; d < rank(); d++) {
      rows *= count(d);
    }
    return rows;
  }
}
