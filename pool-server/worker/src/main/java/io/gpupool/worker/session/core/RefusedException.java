// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker.session.core;

/** The end of a call that asks for what the session does not have, or for what cannot be. */
public final class RefusedException extends Exception {
  private static final long serialVersionUID = 1;

  private final int result;

  /** With the CUresult that the program gets. */
  public RefusedException(int result) {
    super("CUDA error " + result, null, false, false);
    this.result = result;
  }

  public int result() {
    return result;
  }
}
