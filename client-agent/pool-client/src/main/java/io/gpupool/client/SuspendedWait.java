// SPDX-License-Identifier: Apache-2.0
package io.gpupool.client;

/**
 * The wait of a caller for a session that may be suspended.
 *
 * @param canWait whether the caller knows what that is; else it is told that the session cannot be
 *     reached
 * @param wake whether the program has made a call that waits for the session
 * @param millis how long the answer may take while the session stays suspended
 */
public record SuspendedWait(boolean canWait, boolean wake, int millis) {
  /** Of a caller that knows nothing of suspended sessions. */
  public static final SuspendedWait NONE = new SuspendedWait(false, false, 0);

  /** An answer at once. */
  public static final SuspendedWait NOT = new SuspendedWait(true, false, 0);
}
