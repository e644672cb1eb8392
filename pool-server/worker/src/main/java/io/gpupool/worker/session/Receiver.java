// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker.session;

/** The receiving end of the call stream, as far as ops need it. */
interface Receiver {
  /** Receives what is there and sees to the host functions that have ended. */
  void readAhead();

  /**
   * Returns the descriptor that came last beside the call stream, which is the caller's to close;
   * -1 if there is none.
   */
  int takeDescriptor();
}
