// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker.soft;

import io.gpupool.soft.GpuException;
import io.gpupool.soft.device.module.SoftFunction;

/** A function as a handle names it. */
record LoadedFunction(SoftFunction function, LoadedModule module) {
  /**
   * Returns the function of a handle.
   *
   * @throws GpuException INVALID_HANDLE if the handle names no function
   */
  static SoftFunction find(Handles handles, long handle) {
    return handles.get(handle, LoadedFunction.class).function();
  }
}
