// SPDX-License-Identifier: Apache-2.0
package io.gpupool.soft.device.spec;

import io.gpupool.soft.CudaStatus;
import io.gpupool.soft.GpuException;

/** The sizes of a context that a program can ask for and set (CUlimit); any thread may. */
public final class Limits {
  private static final int STACK_SIZE = 0;
  private static final int PRINTF_FIFO_SIZE = 1;
  public static final int MALLOC_HEAP_SIZE = 2;
  public static final int PENDING_LAUNCH_COUNT = 4;
  private static final int L2_FETCH_GRANULARITY = 5;
  private static final int PERSISTING_L2_SIZE = 6;
  private static final int SHARED_MEMORY_SIZE = 7;
  private static final int GRAPHICS_FALLBACK_ENABLED = 9;
  private static final long MAX_STACK_BYTES = 512 << 10;

  private final long[] values = new long[PERSISTING_L2_SIZE + 1];

  public Limits() {
    values[STACK_SIZE] = 1 << 10;
    values[PRINTF_FIFO_SIZE] = 1 << 20;
    values[MALLOC_HEAP_SIZE] = 8 << 20;
    values[PENDING_LAUNCH_COUNT] = 2048;
    values[L2_FETCH_GRANULARITY] = 64;
  }

  /**
   * The value of a CUlimit.
   *
   * @throws GpuException UNSUPPORTED_LIMIT
   */
  public synchronized long get(int limit) {
    // cuBLAS asks whether graphics share the context, and does not set itself up unless it gets an
    // answer.
    if (limit >= SHARED_MEMORY_SIZE && limit <= GRAPHICS_FALLBACK_ENABLED) {
      return 0;
    }
    requireKnown(limit);
    return values[limit];
  }

  /** Sets a CUlimit; sizes are taken as they are, save that the stack has a largest one. */
  public synchronized void set(int limit, long value) {
    requireKnown(limit);
    if (value < 0 || (limit == STACK_SIZE && value > MAX_STACK_BYTES)) {
      throw new GpuException(CudaStatus.INVALID_VALUE, "limit " + limit + " cannot be " + value);
    }
    // There is no L2 cache to set lines of aside.
    values[limit] = limit == PERSISTING_L2_SIZE ? 0 : value;
  }

  private static void requireKnown(int limit) {
    boolean known =
        switch (limit) {
          case STACK_SIZE,
              PRINTF_FIFO_SIZE,
              MALLOC_HEAP_SIZE,
              PENDING_LAUNCH_COUNT,
              L2_FETCH_GRANULARITY,
              PERSISTING_L2_SIZE ->
              true;
          default -> false;
        };
    if (!known) {
      throw new GpuException(CudaStatus.UNSUPPORTED_LIMIT, "there is no limit " + limit + " here");
    }
  }
}
