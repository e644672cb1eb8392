// SPDX-License-Identifier: Apache-2.0
package io.gpupool.soft.tensor;

/**
 * The order of the 16-byte chunks of a box in shared memory, so that a column of them is spread
 * over the banks; the order is that of CUtensorMapSwizzle.
 *
 * <p>Within a span, a chunk's number is combined by exclusive or with the number of the 128-byte
 * row that it lies in.
 */
public enum Swizzle {
  NONE(0),
  SPAN_32(1),
  SPAN_64(2),
  SPAN_128(3);

  /** CU_TENSOR_MAP_SWIZZLE_128B_ATOM_32B and two others, of compute capability 10.0. */
  static final int ATOM_SWIZZLES = 3;

  private static final int CHUNK_SHIFT = 4;
  private static final int ROW_SHIFT = 7;

  private final long mask;
  private final int spanBytes;

  Swizzle(int bits) {
    mask = (1L << bits) - 1 << CHUNK_SHIFT;
    spanBytes = 1 << CHUNK_SHIFT + bits;
  }

  /** The longest row of a box, in bytes, that may be swizzled so. */
  int spanBytes() {
    return spanBytes;
  }

  /** Where in shared memory the byte goes that would be at an address there. */
  public long place(long address) {
    return address ^ address >>> ROW_SHIFT - CHUNK_SHIFT & mask;
  }
}
