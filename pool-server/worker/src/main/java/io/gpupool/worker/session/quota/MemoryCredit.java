// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker.session.quota;

import io.gpupool.worker.session.journal.RestoreException;
import io.gpupool.worker.session.journal.SavedTopic;
import java.io.DataInput;
import java.io.DataOutput;
import java.io.IOException;

/**
 * Credit for small allocations, by GPU: addresses that the program gives to them by itself, one
 * after the other, and as much of the lease's memory, which is counted when it is granted. An
 * allocation that credit pays for needs no answer. Used by the session's thread alone.
 */
public final class MemoryCredit implements SavedTopic {
  private static final long MOST_BYTES = 16L << 20;

  /** The same where other sessions of the lease have memory of the GPU. */
  private static final long MOST_SHARED_BYTES = 2L << 20;

  private static final int PART_OF_FREE = 16;

  /** Other sessions may need what is left when so much of the quota, or less, is free. */
  private static final int PART_OF_QUOTA = 4;

  private final Ledger ledger;

  // By GPU: where the next allocation goes, and where the credit ends.
  private final long[] next;
  private final long[] end;

  MemoryCredit(Ledger ledger) {
    this.ledger = ledger;
    next = new long[ledger.gpus()];
    end = new long[ledger.gpus()];
  }

  /** The bytes of a GPU that are granted and not used. */
  public long unusedBytes(int gpu) {
    return end[gpu] - next[gpu];
  }

  /** The bytes of a GPU that may be granted at present; 0 or more. */
  public long grantableBytes(int gpu) {
    long free = ledger.freeBytes(gpu);
    long quota = ledger.quotaBytes(gpu);
    boolean alone = quota - free <= ledger.sessionBytes(gpu);
    if (!alone && free <= quota / PART_OF_QUOTA) {
      return 0;
    }
    return Math.min(alone ? MOST_BYTES : MOST_SHARED_BYTES, free / PART_OF_FREE);
  }

  /**
   * Grants credit in place of what there was before; false if the lease has no room for it.
   *
   * @param address of free device memory
   */
  public boolean grant(int gpu, long address, long lengthBytes) {
    end(gpu);
    if (!ledger.tryReserve(gpu, lengthBytes)) {
      return false;
    }
    ledger.countCredit(gpu, lengthBytes);
    next[gpu] = address;
    end[gpu] = address + lengthBytes;
    return true;
  }

  /**
   * Pays for an allocation, whose memory stays counted.
   *
   * @return whether it is where the one before ended and there is credit enough
   */
  public boolean pay(int gpu, long address, long lengthBytes) {
    if (gpu < 0 || gpu >= next.length) {
      return false;
    }
    boolean pays = address == next[gpu] && lengthBytes > 0 && lengthBytes <= unusedBytes(gpu);
    if (pays) {
      next[gpu] += lengthBytes;
      ledger.countCredit(gpu, -lengthBytes);
    }
    return pays;
  }

  @Override
  public void save(DataOutput to) throws IOException {
    for (int gpu = 0; gpu < next.length; gpu++) {
      to.writeLong(next[gpu]);
      to.writeLong(end[gpu]);
    }
  }

  @Override
  public void restore(DataInput from) throws IOException, RestoreException {
    for (int gpu = 0; gpu < next.length; gpu++) {
      long address = from.readLong();
      long lengthBytes = from.readLong() - address;
      if (lengthBytes < 0 || lengthBytes > MOST_BYTES || !grant(gpu, address, lengthBytes)) {
        throw new RestoreException("the lease has no room for its credit");
      }
    }
  }

  /** Takes back what is not used. */
  public void end(int gpu) {
    ledger.countCredit(gpu, -unusedBytes(gpu));
    ledger.release(gpu, unusedBytes(gpu));
    next[gpu] = 0;
    end[gpu] = 0;
  }
}
