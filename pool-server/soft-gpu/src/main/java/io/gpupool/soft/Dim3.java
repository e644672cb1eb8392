// SPDX-License-Identifier: Apache-2.0
package io.gpupool.soft;

/** The extents of a grid in blocks, or of a block in threads: CUDA's {@code dim3}. */
public record Dim3(int x, int y, int z) {
  /** Returns a row of {@code x}. */
  public Dim3(int x) {
    this(x, 1, 1);
  }

  /** Returns a plane of {@code x} by {@code y}. */
  public Dim3(int x, int y) {
    this(x, y, 1);
  }

  /** Returns the product of the extents. */
  public long count() {
    return (long) x * y * z;
  }
}
