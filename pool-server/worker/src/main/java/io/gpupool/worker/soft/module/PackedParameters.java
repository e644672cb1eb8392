// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker.soft.module;

import io.gpupool.soft.CudaStatus;
import io.gpupool.soft.GpuException;
import io.gpupool.worker.os.Memory;
import java.lang.foreign.MemorySegment;

/**
 * The {@code extra} argument of a launch: pairs of words, ended by a 0. Word 1 comes before the
 * address of the parameter block, word 2 before the address of its length.
 */
public final class PackedParameters {
  private static final long END = 0;
  private static final long BUFFER = 1;
  private static final long BUFFER_BYTES = 2;
  private static final int MAX_PAIRS = 8;

  /** What CUDA allows a kernel to take. */
  private static final long MAX_BYTES = 32764;

  private PackedParameters() {}

  public static MemorySegment read(long extra) {
    long address = 0;
    long bytes = 0;
    for (int pair = 0; pair < MAX_PAIRS; pair++) {
      long key = Memory.getLong(extra + 16L * pair);
      if (key == END) {
        break;
      }
      long value = Memory.getLong(extra + 16L * pair + 8);
      if (key == BUFFER) {
        address = value;
      } else if (key == BUFFER_BYTES && value != 0) {
        bytes = Memory.getLong(value);
      } else {
        throw new GpuException(CudaStatus.INVALID_VALUE, "unknown launch extra " + key);
      }
    }
    if (bytes < 0 || bytes > MAX_BYTES || (address == 0 && bytes != 0)) {
      throw new GpuException(CudaStatus.INVALID_VALUE, bytes + " bytes of parameters");
    }
    return address == 0 ? MemorySegment.NULL : MemorySegment.ofAddress(address).reinterpret(bytes);
  }
}
