// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.records;

import io.gpupool.server.state.RecordStore;
import io.gpupool.server.state.StateException;

/**
 * An allocator of numbers that are unique in the pool. A server takes a block of them at a time.
 * Owned by the control thread.
 */
public final class IdAllocator {
  private static final int BLOCK = 64;

  private final RecordStore records;
  private final String counter;
  private long next = 1;
  private long end = 1;

  /** Numbers of one kind, each kind by a counter of its own. */
  public IdAllocator(RecordStore records, String counter) {
    this.records = records;
    this.counter = counter;
  }

  public long next() throws StateException {
    if (next == end) {
      next =
          records.transact(transaction -> {
            long first = transaction.get(RecordTypes.COUNTERS, counter).orElse(1L);
            transaction.put(RecordTypes.COUNTERS, counter, first + BLOCK);
            return first;
          });
      end = next + BLOCK;
    }
    return next++;
  }
}
