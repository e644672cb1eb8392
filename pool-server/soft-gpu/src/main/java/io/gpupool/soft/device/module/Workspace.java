// SPDX-License-Identifier: Apache-2.0
package io.gpupool.soft.device.module;

import io.gpupool.soft.exec.launch.GridServices;
import io.gpupool.soft.exec.launch.Launch;
import io.gpupool.soft.memory.DeviceMemory;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;

/**
 * Device memory in which the blocks of a cooperative launch count each other.
 *
 * @param address 0 for a launch that is not cooperative
 */
record Workspace(DeviceMemory memory, long address) {
  /**
   * Takes the memory, if the launch needs it.
   *
   * @throws io.gpupool.soft.GpuException OUT_OF_MEMORY
   */
  static Workspace of(Launch launch, DeviceMemory memory) {
    if (!launch.cooperative()) {
      return new Workspace(memory, 0);
    }
    long address = memory.allocate(GridServices.WORKSPACE_BYTES, Workspace.class);
    MemorySegment bytes = memory.view(address, GridServices.WORKSPACE_BYTES);
    bytes.fill((byte) 0);
    // It starts with its own length.
    bytes.set(ValueLayout.JAVA_INT, 0, GridServices.WORKSPACE_BYTES);
    return new Workspace(memory, address);
  }

  void free() {
    if (address != 0) {
      memory.free(address);
    }
  }
}
