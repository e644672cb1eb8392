// SPDX-License-Identifier: Apache-2.0
package io.gpupool.soft.exec.matrix;

/** The element types of tensor-core matrices. Compiled kernels hold their numbers. */
public enum MatrixType {
  F16(16),
  BF16(16),
  /** The upper 19 bits of a register; what else is in it does not count. */
  TF32(32),
  F64(64),
  E4M3(8),
  E5M2(8),
  S8(8),
  U8(8),
  F32(32),
  S32(32);

  public static final MatrixType[] ALL = values();

  private static final int WARP = 32;
  private static final int HALVES = 16;

  private final int bits;

  MatrixType(int bits) {
    this.bits = bits;
  }

  public int bits() {
    return bits;
  }

  /** Elements in a register; in one of 64 bits there is one. */
  public int perRegister() {
    return Math.max(1, 32 / bits);
  }

  /**
   * Elements that a lane holds of a {@code wmma} matrix: of halves that are multiplied 16, whatever
   * the size.
   */
  public int held(int size, boolean multiplied) {
    return this == F16 && multiplied ? HALVES : size / WARP;
  }
}
