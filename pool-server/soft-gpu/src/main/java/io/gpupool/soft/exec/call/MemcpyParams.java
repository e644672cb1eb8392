// SPDX-License-Identifier: Apache-2.0
package io.gpupool.soft.exec.call;

import io.gpupool.soft.exec.runtime.BlockRuntime.Box;
import io.gpupool.soft.exec.runtime.RuntimeCallException;
import java.util.function.LongUnaryOperator;

/** A {@code cudaMemcpy3DParms} between places in linear memory. */
record MemcpyParams(Box to, Box from, int kind) {
  private static final int SOURCE = 0;
  private static final int TARGET = 64;
  private static final int EXTENT = 128;
  private static final int KIND = 152;

  /**
   * Reads the structure.
   *
   * @param words the 64-bit word at an offset
   */
  static MemcpyParams read(LongUnaryOperator words) {
    return new MemcpyParams(
        side(words, TARGET), side(words, SOURCE), (int) words.applyAsLong(KIND));
  }

  /** An array, a position of three words, and a pitched pointer of four. */
  private static Box side(LongUnaryOperator words, int start) {
    if (words.applyAsLong(start) != 0) {
      throw new RuntimeCallException(
          RuntimeCallException.NOT_SUPPORTED, "kernels copy no CUDA arrays");
    }
    long x = words.applyAsLong(start + 8);
    long y = words.applyAsLong(start + 16);
    long z = words.applyAsLong(start + 24);
    long pointer = words.applyAsLong(start + 32);
    long pitch = words.applyAsLong(start + 40);
    long rows = words.applyAsLong(start + 56);
    return new Box(
        pointer + x + pitch * (y + z * rows),
        pitch,
        rows,
        words.applyAsLong(EXTENT),
        words.applyAsLong(EXTENT + 8),
        words.applyAsLong(EXTENT + 16));
  }
}
