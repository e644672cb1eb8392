// SPDX-License-Identifier: Apache-2.0
package io.gpupool.soft.exec.launch;

/**
 * The regions of a kernel: pieces of code from one wait to the next, each of which one method runs
 * for many threads. A region has the number of the place at which its threads go on; region 0 is
 * the kernel's start.
 *
 * @param waits kind of the wait before each place; {@link #NONE} where no region begins
 * @param codes number of the barrier, or the operation of the warp, that is waited for
 * @param wide whether the threads of several warps can run the region at once
 */
public record RegionTable(byte[] waits, int[] codes, boolean[] wide) {
  public static final byte NONE = 0;

  /** A barrier for all threads; nothing has been done about it when a region ends there. */
  public static final byte BARRIER = 1;

  /** An operation of a warp, for which the threads have brought their values. */
  public static final byte WARP = 2;

  /** A wait at which the threads have arrived already. */
  public static final byte OTHER = 3;

  /** The start of the kernel, which waits for nothing. */
  public static final byte START = 4;

  /** Of a kernel without regions. */
  public static final RegionTable EMPTY = new RegionTable(new byte[1], new int[1], new boolean[1]);

  public boolean isEmpty() {
    return waits[0] == NONE;
  }
}
