// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker.soft.module;

import io.gpupool.soft.GpuException;
import io.gpupool.soft.device.module.SoftFunction;
import io.gpupool.worker.soft.state.Handles;

/** A function as a handle names it. */
public record LoadedFunction(SoftFunction function, LoadedModule module) {
  /**
   * Returns the function of a handle.
   *
   * @throws GpuException INVALID_HANDLE if the handle names no function
   */
  public static SoftFunction find(Handles handles, long handle) {
    return handles.get(handle, LoadedFunction.class).function();
  }
}
