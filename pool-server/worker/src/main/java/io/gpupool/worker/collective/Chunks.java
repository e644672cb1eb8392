// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker.collective;

/** The elements of a buffer as they are divided among ranks; the first chunks are larger by one. */
record Chunks(long count, int ranks, int elementBytes) {
  long start(int chunk) {
    return count / ranks * chunk + Math.min(chunk, count % ranks);
  }

  long length(int chunk) {
    return count / ranks + (chunk < count % ranks ? 1 : 0);
  }

  /** Returns how many elements of a chunk are in its segment that begins at this one. */
  long segment(int chunk, long offset) {
    return Math.clamp(length(chunk) - offset, 0L, segmentElements());
  }

  long segmentElements() {
    return Segments.BYTES / elementBytes;
  }

  /** Returns where an element of a chunk lies in a buffer. */
  long address(long buffer, int chunk, long offset) {
    return buffer + (start(chunk) + offset) * elementBytes;
  }
}
