// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker.nvidia;

/** Way of one operation through the gate before a GPU's driver. */
interface Passage {
  /** Ends the passage of a call that returned this CUresult. */
  void exit(int result);
}
