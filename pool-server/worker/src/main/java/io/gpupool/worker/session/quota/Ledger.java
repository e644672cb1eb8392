// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker.session.quota;

import static java.lang.foreign.ValueLayout.JAVA_LONG;

import io.gpupool.worker.os.ServerFile;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.invoke.VarHandle;
import java.util.Arrays;
import java.util.concurrent.atomic.AtomicLong;

/**
 * Count of the memory that the sessions of one lease have allocated, in memory that their workers
 * share. For each GPU, then for the host, then once more for each GPU what of it is unused credit:
 * the total, then one slot a session. Any thread of any worker may count.
 */
public final class Ledger {
  /** The most sessions of a lease on one server. */
  public static final int SLOTS = 64;

  private static final int WORDS = 1 + SLOTS;

  /** Of images, for all sessions of a lease together: at least, and at most. */
  private static final long MIN_HOST_BYTES = 1L << 30;

  private static final long MAX_HOST_BYTES = 8L << 30;

  private static final VarHandle WORD = JAVA_LONG.varHandle();

  private final MemorySegment words;
  private final int slot;
  private final long[] quotaBytes;

  private final AtomicLong refused = new AtomicLong();

  private Ledger(MemorySegment words, int slot, long[] quotaBytes) {
    this.words = words;
    this.slot = slot;
    this.quotaBytes = quotaBytes;
  }

  /**
   * Maps a lease's ledger.
   *
   * @param file as long as {@link #sizeBytes} says
   * @param slot this session's place, from 0
   * @param quotaBytes of the lease, by GPU
   * @throws IOException if the file cannot be mapped or is too short
   */
  public static Ledger open(ServerFile file, int slot, long[] quotaBytes) throws IOException {
    if (slot < 0 || slot >= SLOTS) {
      throw new IOException("ledger slot " + slot + " is not from 0 to " + (SLOTS - 1));
    }
    MemorySegment words = file.map(0, sizeBytes(quotaBytes.length));
    return new Ledger(words, slot, quotaBytes.clone());
  }

  /** A ledger of a single session, in memory of its own. */
  public static Ledger alone(long[] quotaBytes) {
    MemorySegment words = Arena.ofAuto().allocate(sizeBytes(quotaBytes.length), 8);
    return new Ledger(words, 0, quotaBytes.clone());
  }

  public static long sizeBytes(int gpus) {
    return 8L * WORDS * (2 * gpus + 1);
  }

  /** Counts an allocation, unless it would exceed the quota. */
  public boolean reserve(int gpu, long lengthBytes) {
    boolean reserved = tryReserve(gpu, lengthBytes);
    if (!reserved) {
      refuse();
    }
    return reserved;
  }

  /** The program is told that there is no memory. */
  void refuse() {
    refused.incrementAndGet();
  }

  /** As {@link #reserve}, but what does not succeed may be tried again. */
  boolean tryReserve(int gpu, long lengthBytes) {
    return count(gpu, lengthBytes, quotaBytes[gpu]);
  }

  /** Counts memory of the host, of which a lease has a bounded amount. */
  public boolean reserveHost(long lengthBytes) {
    return count(quotaBytes.length, lengthBytes, hostBytes());
  }

  /** Takes back what {@link #reserveHost} counted. */
  public void releaseHost(long lengthBytes) {
    release(quotaBytes.length, lengthBytes);
  }

  /** A lease of much device memory may have large programs. */
  private long hostBytes() {
    long device = Arrays.stream(quotaBytes).map(quota -> Math.min(quota, MAX_HOST_BYTES)).sum();
    return Math.min(MAX_HOST_BYTES, MIN_HOST_BYTES + 2 * device);
  }

  private boolean count(int row, long lengthBytes, long limitBytes) {
    long total = totalOffset(row);
    while (true) {
      long used = (long) WORD.getVolatile(words, total);
      if (lengthBytes < 0 || lengthBytes > limitBytes - used) {
        return false;
      }
      if (WORD.compareAndSet(words, total, used, used + lengthBytes)) {
        WORD.getAndAdd(words, slotOffset(row), lengthBytes);
        return true;
      }
    }
  }

  /** Counts what has been taken already, even beyond the quota; a negative length takes it back. */
  void charge(int gpu, long lengthBytes) {
    release(gpu, -lengthBytes);
  }

  /** Returns whether more is counted than the lease may have. */
  boolean isExceeded(int gpu) {
    return (long) WORD.getVolatile(words, totalOffset(gpu)) > quotaBytes[gpu];
  }

  /** Takes back what {@link #reserve} counted. */
  public void release(int gpu, long lengthBytes) {
    WORD.getAndAdd(words, slotOffset(gpu), -lengthBytes);
    WORD.getAndAdd(words, totalOffset(gpu), -lengthBytes);
  }

  /** Counts credit that is granted, or with a negative length used or taken back. */
  void countCredit(int gpu, long lengthBytes) {
    int row = quotaBytes.length + 1 + gpu;
    WORD.getAndAdd(words, totalOffset(row), lengthBytes);
    WORD.getAndAdd(words, slotOffset(row), lengthBytes);
  }

  /** Returns the unused credit of the whole lease, which counts as allocated. */
  public long creditBytes(int gpu) {
    long total = (long) WORD.getVolatile(words, totalOffset(quotaBytes.length + 1 + gpu));
    return Math.clamp(total, 0, quotaBytes[gpu]);
  }

  /** Returns the bytes that this session has allocated. */
  public long sessionBytes(int gpu) {
    return (long) WORD.getVolatile(words, slotOffset(gpu));
  }

  long quotaBytes(int gpu) {
    return quotaBytes[gpu];
  }

  /** Returns the bytes that the whole lease may still allocate. */
  public long freeBytes(int gpu) {
    return Math.max(0, quotaBytes[gpu] - (long) WORD.getVolatile(words, totalOffset(gpu)));
  }

  /** Returns how often this session asked for more than there was. */
  public long refused() {
    return refused.get();
  }

  public int gpus() {
    return quotaBytes.length;
  }

  private static long totalOffset(int gpu) {
    return 8L * WORDS * gpu;
  }

  private long slotOffset(int gpu) {
    return totalOffset(gpu) + 8L * (1 + slot);
  }
}
