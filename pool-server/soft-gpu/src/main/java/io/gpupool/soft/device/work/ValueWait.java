// SPDX-License-Identifier: Apache-2.0
package io.gpupool.soft.device.work;

import io.gpupool.soft.CudaStatus;
import io.gpupool.soft.GpuException;

/**
 * The condition that ends the wait of a stream for a value in memory: CUstreamWaitValue_flags.
 *
 * @param wide whether it is 64 bits long, else 32
 */
public record ValueWait(Condition condition, long value, boolean wide) {
  /** How memory is compared with the value. */
  public enum Condition {
    /** Memory minus the value is not negative, in the width of the value. */
    GREATER_OR_EQUAL,
    EQUAL,
    /** They have a bit in common. */
    AND,
    /** A bit is in neither. */
    NOR
  }

  /**
   * Reads the flags.
   *
   * @throws GpuException INVALID_VALUE, or NOT_SUPPORTED for a flush of remote writes
   */
  public static ValueWait of(int flags, long value, boolean wide) {
    if (flags < 0 || flags >= Condition.values().length) {
      boolean flush = (flags & ~3) == 1 << 30;
      throw new GpuException(
          flush ? CudaStatus.NOT_SUPPORTED : CudaStatus.INVALID_VALUE, "wait flags " + flags);
    }
    return new ValueWait(Condition.values()[flags], value, wide);
  }

  public boolean isReached(long memory) {
    return switch (condition) {
      case GREATER_OR_EQUAL -> (wide ? memory - value : (int) (memory - value)) >= 0;
      case EQUAL -> wide ? memory == value : (int) memory == (int) value;
      case AND -> (memory & value & mask()) != 0;
      case NOR -> (~(memory | value) & mask()) != 0;
    };
  }

  private long mask() {
    return wide ? -1L : 0xffff_ffffL;
  }
}
