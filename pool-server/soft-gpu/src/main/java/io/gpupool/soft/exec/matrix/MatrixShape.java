// SPDX-License-Identifier: Apache-2.0
package io.gpupool.soft.exec.matrix;

/** Rows, columns and depth of a matrix multiplication. Compiled kernels hold their numbers. */
public enum MatrixShape {
  M8N8K4(8, 8, 4),
  M8N8K16(8, 8, 16),
  M16N8K4(16, 8, 4),
  M16N8K8(16, 8, 8),
  M16N8K16(16, 8, 16),
  M16N8K32(16, 8, 32),
  M16N16K16(16, 16, 16),
  M32N8K16(32, 8, 16),
  M8N32K16(8, 32, 16),
  M16N16K8(16, 16, 8);

  static final MatrixShape[] ALL = values();

  private final int m;
  private final int n;
  private final int k;

  MatrixShape(int m, int n, int k) {
    this.m = m;
    this.n = n;
    this.k = k;
  }

  public int m() {
    return m;
  }

  public int n() {
    return n;
  }

  public int k() {
    return k;
  }
}
