// SPDX-License-Identifier: Apache-2.0
package io.gpupool.soft.image;

/** A trait of an image's code that matters to where it runs. */
public enum ImageTrait {
  /** Kernels allocate memory by themselves. */
  HEAP,
  /** Kernels call functions by their addresses, which may lie in memory. */
  CODE_ADDRESSES
}
