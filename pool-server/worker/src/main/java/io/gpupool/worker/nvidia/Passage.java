// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker.nvidia;

/** Way of one operation through the gate before a GPU's driver. */
interface Passage {
  /** The call returned with this CUresult. */
  void exit(int result);
}
