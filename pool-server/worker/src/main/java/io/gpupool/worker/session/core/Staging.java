// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker.session.core;

import static java.lang.foreign.ValueLayout.JAVA_LONG;

import com.google.errorprone.annotations.concurrent.GuardedBy;
import io.gpupool.cuda.Backend;
import io.gpupool.cuda.FrameLimits;
import io.gpupool.worker.os.Posix;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.ArrayDeque;
import java.util.HashMap;
import java.util.Map;
import java.util.Objects;

/**
 * Page-locked host memory of one context through which copies go, in blocks of two sizes, kept for
 * the next copy. Any thread in which the context is current may use it.
 */
public final class Staging implements AnswerLog.Lender {
  public static final int SMALL_BYTES = 64 << 10;
  public static final int BLOCK_BYTES = FrameLimits.MAX_DATA_BYTES;

  /** The bytes that copies may hold before they wait for each other. */
  public static final long MAX_BYTES = 64L << 20;

  private static final int PORTABLE = 1;

  private final Backend backend;
  private final MemorySegment out = Arena.ofAuto().allocate(8, 8);

  @GuardedBy("this")
  private final ArrayDeque<Long> freeSmall = new ArrayDeque<>();

  @GuardedBy("this")
  private final ArrayDeque<Long> freeBlocks = new ArrayDeque<>();

  /** The length of every block; of those that are only mapped, negated. */
  @GuardedBy("this")
  private final Map<Long, Integer> lengths = new HashMap<>();

  @GuardedBy("this")
  private long totalBytes;

  Staging(Backend backend) {
    this.backend = backend;
  }

  /**
   * Takes a block of at least {@code lengthBytes}.
   *
   * @param overdraft how much more than {@link #MAX_BYTES} may be taken
   * @return its address, or 0 if there is none
   */
  public synchronized long take(int lengthBytes, long overdraft) {
    boolean small = lengthBytes <= SMALL_BYTES;
    Long block = (small ? freeSmall : freeBlocks).poll();
    if (block != null) {
      return block;
    }
    int blockBytes = small ? SMALL_BYTES : BLOCK_BYTES;
    long limit = MAX_BYTES + overdraft - blockBytes;
    if (totalBytes > limit && small && !freeBlocks.isEmpty()) {
      // Copies of one size may have made blocks of the other up to the limit.
      return freeBlocks.poll();
    }
    while (totalBytes > limit && !freeSmall.isEmpty()) {
      release(freeSmall.poll());
    }
    if (totalBytes > limit) {
      return 0;
    }
    out.set(JAVA_LONG, 0, 0);
    boolean pinned = backend.cuMemHostAlloc(out.address(), blockBytes, PORTABLE) == 0;
    long address = pinned ? out.get(JAVA_LONG, 0) : Posix.map(blockBytes);
    if (address != 0) {
      lengths.put(address, pinned ? blockBytes : -blockBytes);
      totalBytes += blockBytes;
    }
    return address;
  }

  @Override
  public synchronized void give(long block) {
    int length = Math.abs(Objects.requireNonNull(lengths.get(block)));
    (length == SMALL_BYTES ? freeSmall : freeBlocks).push(block);
  }

  @GuardedBy("this")
  private void release(long block) {
    int length = Objects.requireNonNull(lengths.remove(block));
    totalBytes -= Math.abs(length);
    if (length < 0) {
      Posix.unmap(block, -length);
    } else {
      backend.cuMemFreeHost(block);
    }
  }

  /** Forgets all blocks; the page-locked ones went down with their context. */
  public synchronized void forget() {
    lengths.forEach((block, length) -> {
      if (length < 0) {
        Posix.unmap(block, -length);
      }
    });
    lengths.clear();
    freeSmall.clear();
    freeBlocks.clear();
    totalBytes = 0;
  }
}
