// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker.collective;

/**
 * The factor of a rank's input.
 *
 * @param bits of an element, or the address of one in memory
 */
public record Scalar(long bits, boolean isInMemory) {
  /** Of calls that multiply nothing. */
  public static final Scalar NONE = new Scalar(0, false);
}
