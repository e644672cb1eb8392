// SPDX-License-Identifier: Apache-2.0
package io.gpupool.soft.tensor;

/** The element type of a tensor; the order is that of CUtensorMapDataType. */
public enum TensorElement {
  U8(1, false),
  U16(2, false),
  U32(4, false),
  S32(4, false),
  U64(8, false),
  S64(8, false),
  F16(2, true),
  F32(4, true),
  F64(8, true),
  BF16(2, true),
  F32_FTZ(4, true),
  TF32(4, true),
  TF32_FTZ(4, true);

  /** CU_TENSOR_MAP_DATA_TYPE_16U4_ALIGN8B and two others, of compute capability 10.0. */
  static final int PACKED_TYPES = 3;

  /** Bits of a single precision mantissa that TF32 does not have. */
  private static final int TF32_CUT_BITS = 13;

  private static final int EXPONENT = 0x7F80_0000;

  private final int bytes;
  private final boolean real;

  TensorElement(int bytes, boolean real) {
    this.bytes = bytes;
    this.real = real;
  }

  public int bytes() {
    return bytes;
  }

  boolean isReal() {
    return real;
  }

  /** Whether an element becomes another one on its way to shared memory. */
  public boolean converts() {
    return this == F32_FTZ || this == TF32 || this == TF32_FTZ;
  }

  /** What the bits of an element become on the way to shared memory. */
  public int converted(int bits) {
    boolean subnormal = (bits & EXPONENT) == 0;
    if (subnormal && this != TF32) {
      return bits & 0x8000_0000;
    }
    if (this == F32_FTZ || (bits & EXPONENT) == EXPONENT) {
      return bits;
    }
    // To the nearest, ties away from zero.
    return bits + (1 << TF32_CUT_BITS - 1) & -1 << TF32_CUT_BITS;
  }

  /** The bits that stand where a tensor has none: a NaN of this type. */
  public long nanBits() {
    return switch (this) {
      case F16, BF16 -> 0x7FFF;
      case F64 -> Long.MAX_VALUE;
      default -> 0x7FFF_FFFF;
    };
  }
}
