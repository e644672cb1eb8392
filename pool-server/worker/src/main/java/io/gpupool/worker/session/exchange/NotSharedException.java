// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker.session.exchange;

/** Something could not be shared, or is not there to be taken. */
public final class NotSharedException extends Exception {
  private static final long serialVersionUID = 1;

  private final int result;

  /**
   * With the reason.
   *
   * @param result CUresult for the program
   */
  public NotSharedException(int result, String message) {
    super(message);
    this.result = result;
  }

  public int result() {
    return result;
  }
}
