// SPDX-License-Identifier: Apache-2.0
package io.gpupool.soft.device.spec;

import java.util.List;

/**
 * The limits of a multiprocessor of a compute capability, from the table of technical
 * specifications in the CUDA C++ Programming Guide.
 *
 * @param capability 10 * major + minor
 * @param sharedBytesReserved that the system takes of each block's shared memory
 */
public record ComputeLimits(
    int capability,
    int threadsPerMultiprocessor,
    int blocksPerMultiprocessor,
    int sharedBytesPerMultiprocessor,
    int sharedBytesPerBlockOptIn,
    int sharedBytesReserved) {
  /** Row alignment of pitched memory. */
  public static final int PITCH_ALIGNMENT_BYTES = 512;

  /** The first compute capability, times ten, with clusters. */
  public static final int CLUSTER_CAPABILITY = 90;

  public static final int WARP_THREADS = 32;
  public static final int THREADS_PER_BLOCK = 1024;
  public static final int SHARED_BYTES_PER_BLOCK = 48 << 10;
  public static final int SHARED_GRANULE_BYTES = 128;
  public static final int REGISTERS = 65536;
  static final int REGISTERS_PER_THREAD = 255;
  public static final int REGISTER_GRANULE = 256;
  public static final int MAX_GRID_X = Integer.MAX_VALUE;
  public static final int MAX_GRID_YZ = 65535;
  public static final int MAX_BLOCK_Z = 64;

  // There is no card of 13.0: machine code in libraries fits none, so that they take their PTX.
  private static final List<ComputeLimits> ALL =
      List.of(
          new ComputeLimits(75, 1024, 16, 64 << 10, 64 << 10, 0),
          new ComputeLimits(80, 2048, 32, 164 << 10, 163 << 10, 1024),
          new ComputeLimits(86, 1536, 16, 100 << 10, 99 << 10, 1024),
          new ComputeLimits(89, 1536, 24, 100 << 10, 99 << 10, 1024),
          new ComputeLimits(90, 2048, 32, 228 << 10, 227 << 10, 1024),
          new ComputeLimits(100, 2048, 32, 228 << 10, 227 << 10, 1024),
          new ComputeLimits(120, 1536, 24, 100 << 10, 99 << 10, 1024),
          new ComputeLimits(130, 1536, 24, 100 << 10, 99 << 10, 1024));

  /**
   * The limits of a capability.
   *
   * @throws IllegalArgumentException if it is not one that can be presented
   */
  public static ComputeLimits of(int capability) {
    for (ComputeLimits limits : ALL) {
      if (limits.capability == capability) {
        return limits;
      }
    }
    throw new IllegalArgumentException(
        "compute capability "
            + capability / 10
            + "."
            + capability % 10
            + " cannot be presented; use one of 7.5, 8.0, 8.6, 8.9, 9.0, 10.0, 12.0, 13.0");
  }

  public int warpsPerMultiprocessor() {
    return threadsPerMultiprocessor / WARP_THREADS;
  }
}
