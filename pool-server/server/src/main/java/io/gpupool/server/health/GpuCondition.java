// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.health;

import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * The condition of one GPU, and when to try it again. A GPU that has failed rests for a minute,
 * then has to pass a trial; one that fails again within an hour rests twice as long each time, for
 * an hour at most. It has no clock: callers pass the time in milliseconds.
 */
final class GpuCondition {
  static final long REST_MILLIS = 60_000;
  static final long MAX_REST_MILLIS = 3_600_000;
  static final String GOOD = "ok";

  private @Nullable String problem;
  private String told = GOOD;
  private long restMillis = REST_MILLIS;
  private long tryAtMillis;
  private long recoveredAtMillis = Long.MIN_VALUE / 2;

  /** What is wrong with it; empty if nothing is. */
  Optional<String> problem() {
    return Optional.ofNullable(problem);
  }

  /** The driver tells of a fault. */
  void fault(int xid, long nowMillis) {
    if (Xid.isOfTheGpu(xid)) {
      fail(Xid.describe(xid), nowMillis);
    }
  }

  /** The driver tells how it is: {@link #GOOD}, or in a word what is wrong. */
  void told(String condition, long nowMillis) {
    if (!condition.equals(GOOD)) {
      boolean isNew = !condition.equals(told);
      if (isNew || problem == null) {
        fail(describe(condition), nowMillis);
      }
    }
    told = condition;
  }

  /** Whether a trial is due. */
  boolean isToBeTried(long nowMillis) {
    return problem != null && told.equals(GOOD) && nowMillis >= tryAtMillis;
  }

  /** It has done in a trial what it should. */
  void passed(long nowMillis) {
    problem = null;
    recoveredAtMillis = nowMillis;
  }

  /** It has not. */
  void failedTrial(String why, long nowMillis) {
    problem = why;
    lengthen();
    tryAtMillis = nowMillis + restMillis;
  }

  private void fail(String why, long nowMillis) {
    if (problem == null) {
      if (nowMillis - recoveredAtMillis < MAX_REST_MILLIS) {
        lengthen();
      } else {
        restMillis = REST_MILLIS;
      }
    }
    problem = why;
    tryAtMillis = nowMillis + restMillis;
  }

  private void lengthen() {
    restMillis = Math.min(MAX_REST_MILLIS, 2 * restMillis);
  }

  private static String describe(String condition) {
    return switch (condition) {
      case "lost" -> "the driver has lost the GPU; reset it or restart the machine";
      case "row-remap-pending" -> "rows of its memory are to be remapped; reset the GPU";
      case "row-remap-failed" -> "rows of its memory could not be remapped; replace the card";
      default -> condition;
    };
  }
}
