// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker.session.quota;

import com.google.errorprone.annotations.concurrent.GuardedBy;
import io.gpupool.cuda.Backend;

/**
 * Count of allocations by the blocks in which a driver gives out memory: large ones have blocks of
 * their own, small ones share. Any thread may call it.
 */
final class BlockCount {
  private final long blockBytes;

  /** By GPU: of all small allocations. */
  @GuardedBy("this")
  private final long[] smallBytes;

  /** With no allocations yet. */
  BlockCount(long blockBytes, int gpus) {
    this.blockBytes = blockBytes;
    smallBytes = new long[gpus];
  }

  /** Counts a new allocation; returns the bytes that it takes, negative if its length is. */
  synchronized long add(int gpu, long lengthBytes) {
    if (isLarge(lengthBytes)) {
      return whole(lengthBytes, blockBytes);
    }
    long before = whole(smallBytes[gpu], blockBytes);
    smallBytes[gpu] += whole(lengthBytes, Backend.MIN_BLOCK_BYTES);
    return whole(smallBytes[gpu], blockBytes) - before;
  }

  /** Removes an allocation; returns the bytes that it leaves. */
  synchronized long remove(int gpu, long lengthBytes) {
    if (isLarge(lengthBytes)) {
      return whole(lengthBytes, blockBytes);
    }
    long before = whole(smallBytes[gpu], blockBytes);
    smallBytes[gpu] -= whole(lengthBytes, Backend.MIN_BLOCK_BYTES);
    return before - whole(smallBytes[gpu], blockBytes);
  }

  private boolean isLarge(long lengthBytes) {
    return lengthBytes < 0 || lengthBytes > blockBytes / 2;
  }

  private static long whole(long lengthBytes, long blockBytes) {
    return lengthBytes < 0 || lengthBytes > Long.MAX_VALUE - blockBytes
        ? -1
        : (lengthBytes + blockBytes - 1) / blockBytes * blockBytes;
  }
}
