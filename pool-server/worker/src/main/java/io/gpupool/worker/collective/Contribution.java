// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker.collective;

import io.gpupool.cuda.ReduceOperation;
import io.gpupool.worker.os.Memory;

/** The contribution of a rank to a reduction, and its combination with those of others. */
final class Contribution {
  private final Reduction reduction;
  private final int operation;
  private final int elementBytes;
  private final long scalar;

  Contribution(CollectiveCall call, Reduction reduction) {
    this.reduction = reduction;
    operation = call.operation();
    elementBytes = call.type().bytes();
    Scalar factor = call.scalar();
    boolean inMemory = isMultiplied() && factor.isInMemory();
    scalar = inMemory ? element(factor.bits()) : factor.bits();
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
    return operation == ReduceOperation.PRE_MULTIPLIED_SUM;
  }

  /** Puts a part of this rank's input into the target. */
  void put(long target, long input, long elements) {
    if (isMultiplied()) {
      reduction.multiply(target, input, elements, scalar);
    } else if (target != input) {
      Memory.copy(input, target, elements * elementBytes);
    }
  }

  /** Puts what others contributed, combined with this rank's input, into the target. */
  void add(long target, long others, long input, long elements) {
    if (isMultiplied()) {
      reduction.multiply(target, input, elements, scalar);
      combine(target, others, target, elements);
    } else {
      combine(target, others, input, elements);
    }
  }

  /** Combines contributions. */
  void combine(long target, long left, long right, long elements) {
    reduction.combine(operation, target, left, right, elements);
  }

  /** Makes the result of all contributions combined. */
  void finish(long target, long elements, int ranks) {
    if (operation == ReduceOperation.AVERAGE) {
      reduction.divide(target, elements, ranks);
    }
  }
}
