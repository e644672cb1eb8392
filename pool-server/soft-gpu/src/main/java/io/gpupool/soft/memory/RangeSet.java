// SPDX-License-Identifier: Apache-2.0
package io.gpupool.soft.memory;

import java.util.Map;
import java.util.TreeMap;

/** A set of addresses kept as disjoint ranges. Not thread-safe; {@link DeviceMemory} guards it. */
final class RangeSet {
  private final TreeMap<Long, Long> endByStart = new TreeMap<>();
  private long totalBytes;

  void add(long start, long end) {
    remove(start, end);
    long joinedStart = start;
    long joinedEnd = end;
    Map.Entry<Long, Long> before = endByStart.lowerEntry(start);
    if (before != null && before.getValue() == start) {
      joinedStart = before.getKey();
    }
    Long after = endByStart.remove(end);
    if (after != null) {
      joinedEnd = after;
    }
    endByStart.put(joinedStart, joinedEnd);
    totalBytes += end - start;
  }

  void remove(long start, long end) {
    Map.Entry<Long, Long> entry = endByStart.lowerEntry(end);
    while (entry != null && entry.getValue() > start) {
      long from = entry.getKey();
      long to = entry.getValue();
      endByStart.remove(from);
      totalBytes -= Math.min(to, end) - Math.max(from, start);
      if (to > end) {
        endByStart.put(end, to);
      }
      if (from < start) {
        endByStart.put(from, start);
      }
      entry = endByStart.lowerEntry(end);
    }
  }

  /** Hands what of a range is not in the set to {@code consumer}, lowest first. */
  void forEachGap(long start, long end, RangeConsumer consumer) {
    Map.Entry<Long, Long> before = endByStart.floorEntry(start);
    long at = before == null ? start : Math.max(start, before.getValue());
    for (Map.Entry<Long, Long> next = endByStart.ceilingEntry(start);
        next != null && next.getKey() < end;
        next = endByStart.higherEntry(next.getKey())) {
      if (next.getKey() > at) {
        consumer.accept(at, next.getKey());
      }
      at = Math.max(at, next.getValue());
    }
    if (at < end) {
      consumer.accept(at, end);
    }
  }

  /** Whether nothing of a range is in the set. */
  boolean isFree(long start, long end) {
    Map.Entry<Long, Long> last = endByStart.lowerEntry(end);
    return last == null || last.getValue() <= start;
  }

  long totalBytes() {
    return totalBytes;
  }

  /** Hands every range to {@code consumer}, lowest first, and forgets it. */
  void drain(RangeConsumer consumer) {
    endByStart.forEach(consumer::accept);
    endByStart.clear();
    totalBytes = 0;
  }

  /** Takes a half-open range. */
  @FunctionalInterface
  interface RangeConsumer {
    void accept(long start, long end);
  }
}
