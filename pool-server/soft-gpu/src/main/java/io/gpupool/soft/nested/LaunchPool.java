// SPDX-License-Identifier: Apache-2.0
package io.gpupool.soft.nested;

import io.gpupool.soft.exec.runtime.RuntimeCallException;
import io.gpupool.soft.memory.DeviceHeap;
import java.lang.foreign.MemorySegment;

/**
 * Device memory for the parameters of launches that have not begun, and the limit to how many there
 * may be: {@code cudaLimitDevRuntimePendingLaunchCount}. Any thread may call it.
 */
public final class LaunchPool {
  /** Device memory for each launch; those with more parameters leave room for fewer. */
  public static final int BYTES_PER_LAUNCH = 4096;

  private static final int ALIGNMENT_BYTES = 64;

  private final MemorySegment memory;
  private final long address;
  private final DeviceHeap heap;
  private final long limit;
  private long pending;

  /**
   * Makes a pool in allocated memory.
   *
   * @param memory at {@code address}, {@link #BYTES_PER_LAUNCH} for each launch
   * @param limit launches that may be pending
   */
  public LaunchPool(MemorySegment memory, long address, long limit) {
    this.memory = memory;
    this.address = address;
    this.limit = limit;
    heap = new DeviceHeap(address, memory.byteSize());
  }

  /** Counts a launch as pending until {@link #release}. */
  synchronized void take() {
    if (pending >= limit) {
      throw full();
    }
    pending++;
  }

  /** Counts a launch as pending, and gives it memory for its parameters until {@link #free}. */
  synchronized long take(long alignment, long bytes) {
    if (bytes < 0 || alignment < 0 || alignment > ALIGNMENT_BYTES) {
      throw new RuntimeCallException(
          RuntimeCallException.INVALID_VALUE,
          bytes + " bytes of parameters, aligned to " + alignment);
    }
    // Pieces that are all multiples of the alignment leave only such addresses.
    long rounded = bytes > memory.byteSize() ? bytes : Math.max(bytes + 63 & -64, 64);
    long place = pending < limit ? heap.allocate(rounded) : 0;
    if (place == 0) {
      throw full();
    }
    pending++;
    return place;
  }

  private static RuntimeCallException full() {
    return new RuntimeCallException(
        RuntimeCallException.LAUNCH_PENDING_COUNT_EXCEEDED, "too many launches are pending");
  }

  synchronized void release(int launches) {
    pending -= launches;
  }

  void free(long buffer) {
    heap.free(buffer);
  }

  /** The bytes of a parameter buffer. */
  MemorySegment view(long buffer, long bytes) {
    return memory.asSlice(buffer - address, bytes);
  }
}
