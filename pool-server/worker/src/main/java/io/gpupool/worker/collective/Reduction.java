// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker.collective;

/**
 * The arithmetic on elements of one type, by absolute address. An operation is one of {@code
 * ReduceOperation}; averages and sums of multiplied inputs are combined as sums. Targets may be
 * sources. It has arrays of its own, so one thread uses it at a time.
 */
abstract sealed class Reduction permits IntegerReduction, FloatingReduction {
  /** So many that a block's arrays stay in the processor's first cache. */
  static final int BLOCK_ELEMENTS = 1024;

  private final int elementBytes;

  Reduction(int elementBytes) {
    this.elementBytes = elementBytes;
  }

  static Reduction of(ElementType type) {
    return switch (type) {
      case INT8 -> new ByteReduction(true);
      case UINT8 -> new ByteReduction(false);
      case INT32 -> new IntReduction(Integer.BYTES);
      case UINT32 -> new UnsignedIntReduction();
      case INT64 -> new LongReduction(Long.BYTES);
      case UINT64 -> new UnsignedLongReduction();
      case FLOAT16 -> new Float16Reduction();
      case FLOAT32 -> new FloatReduction(Float.BYTES);
      case FLOAT64 -> new DoubleReduction();
      case BFLOAT16 -> new BFloat16Reduction();
      case FLOAT8_E4M3, FLOAT8_E5M2 -> new Float8Reduction(type);
    };
  }

  /** Puts what left and right elements combine to into the target. */
  final void combine(int operation, long target, long left, long right, long elements) {
    for (long done = 0; done < elements; done += BLOCK_ELEMENTS) {
      long offset = done * elementBytes;
      load(left + offset, right + offset, block(elements - done));
      combineBlock(operation, block(elements - done));
      store(target + offset, block(elements - done));
    }
  }

  /**
   * Puts the elements of the source, multiplied, into the target.
   *
   * @param scalar the bits of an element
   */
  final void multiply(long target, long source, long elements, long scalar) {
    for (long done = 0; done < elements; done += BLOCK_ELEMENTS) {
      long offset = done * elementBytes;
      load(source + offset, source + offset, block(elements - done));
      multiplyBlock(scalar, block(elements - done));
      store(target + offset, block(elements - done));
    }
  }

  final int elementBytes() {
    return elementBytes;
  }

  static int block(long elements) {
    return (int) Math.min(elements, BLOCK_ELEMENTS);
  }

  /** Loads a block of both sources. */
  abstract void load(long left, long right, int count);

  /** Stores the block that was computed last. */
  abstract void store(long target, int count);

  /** Computes of both sources. */
  abstract void combineBlock(int operation, int count);

  /** Computes of the left source. */
  abstract void multiplyBlock(long scalar, int count);
}
