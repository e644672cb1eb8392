// SPDX-License-Identifier: Apache-2.0
package io.gpupool.soft.exec.runtime;

/** CUDA's device runtime as one grid sees it; called by the worker threads that run the grid. */
public interface DeviceRuntime {
  /** For grids of modules that do not call it. */
  DeviceRuntime NONE =
      () -> {
        throw new IllegalStateException("the module does not call the device runtime");
      };

  /** What a block of the grid sees; asked for when the first of its threads calls. */
  BlockRuntime open();
}
