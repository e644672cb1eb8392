// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker.collective;

import io.gpupool.cuda.ReduceOperation;
import io.gpupool.worker.os.Memory;

/**
 * The contribution of a rank to a reduction, and its combination with those of others. Averages are
 * as NCCL's: floating-point inputs are multiplied by the reciprocal of the number of ranks before
 * they are added, and sums of integers are divided.
 */
final class Contribution {
  private final RankGpu gpu;
  private final Reduction reduction;
  private final int operation;
  private final int elementBytes;
  private final int ranks;

  private final boolean isMultiplied;

  /** The bits of what the input is multiplied by, if it is. */
  private final long factor;

  /**
   * The contribution to a call.
   *
   * @param gpu of the rank
   */
  Contribution(CollectiveCall call, Reduction reduction, int ranks, RankGpu gpu) {
    this.gpu = gpu;
    this.reduction = reduction;
    this.ranks = ranks;
    operation = call.operation();
    elementBytes = call.type().bytes();
    Scalar scalar = call.scalar();
    if (operation == ReduceOperation.PRE_MULTIPLIED_SUM) {
      isMultiplied = true;
      factor = scalar.isInMemory() ? element(scalar.bits()) : scalar.bits();
    } else if (operation == ReduceOperation.AVERAGE
        && reduction instanceof FloatingReduction floats) {
      isMultiplied = true;
      factor = floats.nearest(1.0 / ranks);
    } else {
      isMultiplied = false;
      factor = 0;
    }
  }

  private long element(long address) {
    return switch (elementBytes) {
      case Byte.BYTES -> Memory.getByte(address);
      case Short.BYTES -> Memory.getShort(address);
      case Integer.BYTES -> Memory.getInt(address);
      default -> Memory.getLong(address);
    };
  }

  /** Returns whether the input has to be multiplied before others get it. */
  boolean isMultiplied() {
    return isMultiplied;
  }

  /** Puts a part of this rank's input into the target. */
  void put(long target, long input, long elements) {
    if (isMultiplied) {
      gpu.run(() -> reduction.multiply(target, input, elements, factor));
    } else if (target != input) {
      gpu.copy(input, target, elements * elementBytes);
    }
  }

  /** Puts what others contributed, combined with this rank's input, into the target. */
  void add(long target, long others, long input, long elements) {
    if (isMultiplied) {
      put(target, input, elements);
      combine(target, others, target, elements);
    } else {
      combine(target, others, input, elements);
    }
  }

  /** Combines contributions. */
  void combine(long target, long left, long right, long elements) {
    gpu.run(() -> reduction.combine(operation, target, left, right, elements));
  }

  /** Makes the result of all contributions combined. */
  void finish(long target, long elements) {
    if (operation == ReduceOperation.AVERAGE && reduction instanceof IntegerReduction integers) {
      gpu.run(() -> integers.divide(target, elements, ranks));
    }
  }
}
