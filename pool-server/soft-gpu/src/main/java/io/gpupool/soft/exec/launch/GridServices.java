// SPDX-License-Identifier: Apache-2.0
package io.gpupool.soft.exec.launch;

import io.gpupool.soft.exec.runtime.DeviceRuntime;
import io.gpupool.soft.memory.DeviceHeap;
import io.gpupool.soft.texture.ReferenceTable;
import io.gpupool.soft.texture.TextureTable;

/**
 * The services that a launch gives its kernel besides memory.
 *
 * @param printf takes device printf output
 * @param textures what its texture and surface objects stand for
 * @param references what the texture and surface references of its module are bound to
 * @param heap behind device malloc
 * @param gridWorkspace device address of the {@value #WORKSPACE_BYTES} bytes in which the blocks of
 *     a cooperative launch count each other; 0 if the launch is not cooperative
 * @param runtime what its threads call to launch kernels
 * @param time the device's, which its threads must have to run
 */
public record GridServices(
    PrintfSink printf,
    TextureTable textures,
    ReferenceTable references,
    DeviceHeap heap,
    long gridWorkspace,
    DeviceRuntime runtime,
    DeviceTime time) {
  /** Length of a workspace: a 32-bit length and a 32-bit counter are used. */
  public static final int WORKSPACE_BYTES = 16;

  /** A launch that cannot allocate, and whose blocks cannot wait for each other. */
  public static GridServices printing(PrintfSink printf) {
    return new GridServices(
        printf,
        new TextureTable(),
        ReferenceTable.EMPTY,
        DeviceHeap.NONE,
        0,
        DeviceRuntime.NONE,
        DeviceTime.UNSHARED);
  }
}
