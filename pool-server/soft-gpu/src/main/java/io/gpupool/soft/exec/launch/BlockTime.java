// SPDX-License-Identifier: Apache-2.0
package io.gpupool.soft.exec.launch;

/**
 * The time that the blocks of a kernel took when it last ran. A grid that ends before another
 * thread could wake up wakes none. Any thread may call it; what two grids say at once is one of
 * both.
 */
public final class BlockTime {
  /** What waking a thread is worth. */
  public static final long WAKING_NANOS = 30_000;

  private volatile long nanosPerBlock = Long.MAX_VALUE;

  /** Whether a grid is likely to be over before another thread could help. */
  public boolean isShort(long blocks) {
    return blocks < WAKING_NANOS / Math.max(1, nanosPerBlock);
  }

  /** A grid has ended. */
  public void ran(long blocks, long nanos) {
    nanosPerBlock = nanos / blocks;
  }
}
