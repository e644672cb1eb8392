// SPDX-License-Identifier: Apache-2.0
package io.gpupool.soft.exec.block;

import java.util.Arrays;

/**
 * Results of {@code shfl}. Kernels that reduce or scan spend much of their time here, nearly always
 * with all lanes of a warp and the same arguments in each: then values are moved in rows.
 * Stateless; runs on the worker thread that runs the block.
 */
final class Shuffles {
  private static final int LANES = ThreadBlock.WARP;

  private Shuffles() {}

  /** Stores the results for the lanes that take part: see {@link WarpResults#compute}. */
  static void compute(
      ThreadScheduler scheduler,
      int first,
      int operation,
      int lanes,
      long[] values,
      int[] arguments,
      int[] controls) {
    if (lanes == -1 && isSame(arguments, first) && isSame(controls, first)) {
      int by = arguments[first] & 31;
      if (moveRow(scheduler, first, operation, values, by, controls[first])) {
        return;
      }
    }
    long[] results = scheduler.results();
    int[] predicates = scheduler.predicates();
    for (int rest = lanes; rest != 0; rest &= rest - 1) {
      int lane = Integer.numberOfTrailingZeros(rest);
      int thread = first + lane;
      int source = source(operation, lane, arguments[thread] & 31, controls[thread]);
      results[thread] = values[first + (source >= 0 ? source : lane)];
      predicates[thread] = source >= 0 ? 1 : 0;
    }
  }

  private static boolean isSame(int[] numbers, int first) {
    int number = numbers[first];
    int different = 0;
    for (int thread = first; thread < first + LANES; thread++) {
      different |= numbers[thread] ^ number;
    }
    return different == 0;
  }

  /** Moves the values of a whole warp that is one segment; false if it is not. */
  private static boolean moveRow(
      ThreadScheduler scheduler, int first, int operation, long[] values, int by, int control) {
    int clamp = operation == WarpResults.SHFL_UP ? 0 : LANES - 1;
    if ((control & 0x1F1F) != clamp) {
      return false;
    }
    long[] results = scheduler.results();
    int[] predicates = scheduler.predicates();
    int end = first + LANES;
    // Lanes whose source is out of range.
    int from = end;
    int to = end;
    switch (operation) {
      case WarpResults.SHFL_UP -> {
        System.arraycopy(values, first, results, first + by, LANES - by);
        from = first;
        to = first + by;
      }
      case WarpResults.SHFL_DOWN -> {
        System.arraycopy(values, first + by, results, first, LANES - by);
        from = end - by;
      }
      case WarpResults.SHFL_BFLY -> {
        for (int lane = 0; lane < LANES; lane++) {
          results[first + lane] = values[first + (lane ^ by)];
        }
      }
      default -> Arrays.fill(results, first, end, values[first + by]);
    }
    Arrays.fill(predicates, first, end, 1);
    System.arraycopy(values, from, results, from, to - from);
    Arrays.fill(predicates, from, to, 0);
    return true;
  }

  /** The lane that a lane reads; -1 if that is out of range. */
  private static int source(int operation, int lane, int by, int control) {
    int segment = control >>> 8 & 31;
    int limit = lane & segment | control & 31 & ~segment;
    int source =
        switch (operation) {
          case WarpResults.SHFL_UP -> lane - by;
          case WarpResults.SHFL_DOWN -> lane + by;
          case WarpResults.SHFL_BFLY -> lane ^ by;
          default -> lane & segment | by & ~segment;
        };
    boolean inRange = operation == WarpResults.SHFL_UP ? source >= limit : source <= limit;
    return inRange ? source : -1;
  }
}
