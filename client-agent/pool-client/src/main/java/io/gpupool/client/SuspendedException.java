// SPDX-License-Identifier: Apache-2.0
package io.gpupool.client;

/** Answer that a session is suspended: it goes on when its lease is resumed. */
public final class SuspendedException extends RuntimeException {
  private static final long serialVersionUID = 1L;

  private final boolean wakesOnCall;

  /**
   * Tells of a suspended session.
   *
   * @param reason for people
   * @param wakesOnCall whether a call of the program resumes it
   */
  public SuspendedException(String reason, boolean wakesOnCall) {
    super(reason, null, false, false);
    this.wakesOnCall = wakesOnCall;
  }

  public boolean wakesOnCall() {
    return wakesOnCall;
  }
}
