// SPDX-License-Identifier: Apache-2.0
package io.gpupool.soft.memory;

/**
 * The pages of a mapping that have been made usable, which they stay, in large steps. Not
 * thread-safe; {@link DeviceMemory} guards it.
 */
final class CommittedPages {
  /** Beginnings and ends of steps are multiples of this from the mapping's beginning on. */
  static final long STEP_BYTES = 256L << 20;

  private final Mapping mapping;
  private final RangeSet committed = new RangeSet();

  CommittedPages(Mapping mapping) {
    this.mapping = mapping;
  }

  /** Makes a range of the mapping usable; false if the kernel has not the memory to promise. */
  boolean commit(long start, long end) {
    long base = mapping.address();
    long from = base + (start - base) / STEP_BYTES * STEP_BYTES;
    long steps = (end - base + STEP_BYTES - 1) / STEP_BYTES;
    long to = base + Math.min(mapping.sizeBytes(), steps * STEP_BYTES);
    RangeSet missing = new RangeSet();
    committed.forEachGap(from, to, missing::add);
    if (missing.totalBytes() == 0) {
      return true;
    }
    boolean[] done = {true};
    missing.drain((gapStart, gapEnd) -> {
      if (mapping.commit(gapStart, gapEnd - gapStart)) {
        committed.add(gapStart, gapEnd);
      } else {
        done[0] = false;
      }
    });
    return done[0];
  }
}
