// SPDX-License-Identifier: Apache-2.0
package io.gpupool.soft.nested;

import io.gpupool.soft.exec.GridExecution;
import io.gpupool.soft.exec.runtime.BlockRuntime.Box;
import io.gpupool.soft.exec.runtime.BlockRuntime.ChildLaunch;
import io.gpupool.soft.exec.runtime.DeviceQueries;
import io.gpupool.soft.exec.runtime.DeviceRuntime;
import java.lang.foreign.MemorySegment;

/**
 * The kernels of a module for launches from its own kernels, and those that copy and fill. Any
 * thread may call it.
 */
public interface ChildKernels {
  /**
   * Checks a launch.
   *
   * @throws io.gpupool.soft.exec.runtime.RuntimeCallException if it is not possible
   */
  Child check(ChildLaunch launch);

  /** A launch that copies; both boxes have the same extent. */
  Prepared copy(Box to, Box from);

  /** A launch that fills with a byte. */
  Prepared fill(Box to, int value);

  /**
   * Starts a grid.
   *
   * @param params copied before this returns
   * @param runtime what its kernel calls
   */
  GridExecution start(Child child, MemorySegment params, DeviceRuntime runtime);

  /** A grid that was started has ended. */
  void ended(GridExecution execution);

  DeviceQueries queries();

  /** A launch with its parameters. */
  record Prepared(Child child, MemorySegment params) {}
}
