// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker.nvidia.memory;

/** A driver's service that gives addresses of a GPU memory, and takes it away. */
public interface BlockMapper {
  /** CU_MEM_ACCESS_FLAGS_PROT_READWRITE. */
  int READ_WRITE = 3;

  /** Maps new memory, to be read and written by the GPU; returns a CUresult. */
  int map(long address, long lengthBytes);

  /** Unmaps what one call of {@link #map} has mapped, which ends the memory. */
  void unmap(long address, long lengthBytes);
}
