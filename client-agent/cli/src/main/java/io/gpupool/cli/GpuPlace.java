// SPDX-License-Identifier: Apache-2.0
package io.gpupool.cli;

import io.gpupool.control.v1.GpuInfo;
import io.gpupool.control.v1.Grant;

/** The place of a GPU in the pool, such as {@code gpu-1/0}: its server and its ordinal there. */
public final class GpuPlace {
  private GpuPlace() {}

  public static String of(GpuInfo gpu) {
    return of(gpu.getServer(), gpu.getGpu());
  }

  /** Returns the place of the GPU that a grant is of. */
  public static String of(Grant grant) {
    return of(grant.getServer(), grant.getGpu());
  }

  private static String of(String server, int gpu) {
    return server + "/" + gpu;
  }
}
