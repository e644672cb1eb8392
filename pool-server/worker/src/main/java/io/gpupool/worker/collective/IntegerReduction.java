// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker.collective;

/** The arithmetic on integers. Sums and products wrap; an average is a sum that is divided. */
abstract non-sealed class IntegerReduction extends Reduction {
  IntegerReduction(int elementBytes) {
    super(elementBytes);
  }

  /** Divides the elements; quotients lose their fractions. */
  final void divide(long target, long elements, int divisor) {
    for (long done = 0; done < elements; done += BLOCK_ELEMENTS) {
      long address = target + done * elementBytes();
      load(address, address, block(elements - done));
      divideBlock(divisor, block(elements - done));
      store(address, block(elements - done));
    }
  }

  /** Computes of the left source. */
  abstract void divideBlock(int divisor, int count);
}
