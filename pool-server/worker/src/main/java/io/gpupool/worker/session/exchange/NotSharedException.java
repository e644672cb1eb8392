// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker.session.exchange;

import org.jspecify.annotations.Nullable;

/** The failure to share something, or to take something that is not there. */
public final class NotSharedException extends Exception {
  private static final long serialVersionUID = 1;

  private final int result;

  /**
   * With the reason.
   *
   * @param result CUresult for the program
   */
  public NotSharedException(int result, @Nullable String message) {
    super(message);
    this.result = result;
  }

  public int result() {
    return result;
  }
}
