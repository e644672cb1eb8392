// SPDX-License-Identifier: Apache-2.0
package io.gpupool.soft.exec.block;

import io.gpupool.soft.exec.arithmetic.Integers;

/** The results of a warp-wide operation for each lane, once all have arrived. */
public final class WarpResults {
  public static final int SYNC = 0;
  public static final int SHFL_UP = 1;
  public static final int SHFL_DOWN = 2;
  public static final int SHFL_BFLY = 3;
  public static final int SHFL_IDX = 4;
  public static final int VOTE_BALLOT = 5;
  public static final int VOTE_ANY = 6;
  public static final int VOTE_ALL = 7;
  public static final int VOTE_UNI = 8;
  public static final int MATCH_ANY = 9;
  public static final int MATCH_ALL = 10;
  public static final int REDUX_ADD = 11;
  public static final int REDUX_MIN = 12;
  public static final int REDUX_MAX = 13;
  public static final int REDUX_MIN_UNSIGNED = 14;
  public static final int REDUX_MAX_UNSIGNED = 15;
  public static final int REDUX_AND = 16;
  public static final int REDUX_OR = 17;
  public static final int REDUX_XOR = 18;
  public static final int ELECT = 19;

  private WarpResults() {}

  /**
   * Stores the results of one operation.
   *
   * @param first thread of lane 0
   * @param lanes those that take part
   * @param values what each thread brought
   * @param arguments lane argument of a shuffle
   * @param controls clamp argument of a shuffle
   */
  static void compute(
      ThreadScheduler scheduler,
      int first,
      int operation,
      int lanes,
      long[] values,
      int[] arguments,
      int[] controls) {
    if (operation == SYNC) {
      return;
    }
    if (operation < VOTE_BALLOT) {
      Shuffles.compute(scheduler, first, operation, lanes, values, arguments, controls);
      return;
    }
    long common = common(first, operation, lanes, values);
    for (int rest = lanes; rest != 0; rest &= rest - 1) {
      int lane = Integer.numberOfTrailingZeros(rest);
      int thread = first + lane;
      if (operation == MATCH_ANY) {
        scheduler.result(thread, equalLanes(first, lanes, values, values[thread]), 0);
      } else if (operation == ELECT) {
        scheduler.result(thread, common, lane == common ? 1 : 0);
      } else {
        scheduler.result(thread, common, common != 0 ? 1 : 0);
      }
    }
  }

  private static int equalLanes(int first, int lanes, long[] values, long value) {
    int equal = 0;
    for (int rest = lanes; rest != 0; rest &= rest - 1) {
      int lane = Integer.numberOfTrailingZeros(rest);
      if (values[first + lane] == value) {
        equal |= 1 << lane;
      }
    }
    return equal;
  }

  private static long common(int first, int operation, int lanes, long[] values) {
    if (operation == ELECT) {
      return Integer.numberOfTrailingZeros(lanes);
    }
    int leader = first + Integer.numberOfTrailingZeros(lanes);
    if (operation == MATCH_ALL) {
      return equalLanes(first, lanes, values, values[leader]) == lanes ? lanes & 0xFFFF_FFFFL : 0;
    }
    if (operation <= VOTE_UNI) {
      return vote(operation, lanes, lanes & ~equalLanes(first, lanes, values, 0));
    }
    int result = (int) values[leader];
    for (int rest = lanes & lanes - 1; rest != 0; rest &= rest - 1) {
      int value = (int) values[first + Integer.numberOfTrailingZeros(rest)];
      result =
          switch (operation) {
            case REDUX_ADD -> result + value;
            case REDUX_MIN -> Math.min(result, value);
            case REDUX_MAX -> Math.max(result, value);
            case REDUX_MIN_UNSIGNED -> Integers.minUnsigned(result, value);
            case REDUX_MAX_UNSIGNED -> Integers.maxUnsigned(result, value);
            case REDUX_AND -> result & value;
            case REDUX_OR -> result | value;
            default -> result ^ value;
          };
    }
    return result;
  }

  private static long vote(int operation, int lanes, int ballot) {
    return switch (operation) {
      case VOTE_BALLOT -> ballot;
      case VOTE_ANY -> ballot != 0 ? 1 : 0;
      case VOTE_ALL -> ballot == lanes ? 1 : 0;
      default -> ballot == 0 || ballot == lanes ? 1 : 0;
    };
  }
}
