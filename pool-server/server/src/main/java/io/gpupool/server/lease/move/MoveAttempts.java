// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.lease.move;

import io.gpupool.runtime.BackOff;
import java.time.Duration;
import java.util.concurrent.TimeUnit;

/**
 * The attempts to move a lease away, which tell when to try again: soon if there was no room, later
 * each time that a move failed, as its programs stood still for it. Used by the control thread.
 */
final class MoveAttempts {
  private static final long NO_ROOM_NANOS = TimeUnit.SECONDS.toNanos(2);

  private final BackOff afterFailures =
      BackOff.exact(Duration.ofSeconds(5), Duration.ofSeconds(80));
  private String failedMove;
  private boolean waits;
  private long againNanos;
  private String reason = "";

  /**
   * Of a lease that was not tried yet.
   *
   * @param earlierMove id of a move that does not count; empty: none
   */
  MoveAttempts(String earlierMove) {
    failedMove = earlierMove;
  }

  /** Why it has not moved; empty: it was not tried. */
  String reason() {
    return reason;
  }

  boolean isDue(long nowNanos) {
    return !waits || nowNanos - againNanos >= 0;
  }

  void noteRefusal(String why, long nowNanos) {
    reason = why;
    waitUntil(nowNanos + NO_ROOM_NANOS);
  }

  /** Counts a move that has failed, once. */
  void noteFailure(String move, String why, long nowNanos) {
    if (!move.equals(failedMove)) {
      failedMove = move;
      reason = why;
      waitUntil(nowNanos + afterFailures.next().toNanos());
    }
  }

  private void waitUntil(long nanos) {
    waits = true;
    againNanos = nanos;
  }
}
