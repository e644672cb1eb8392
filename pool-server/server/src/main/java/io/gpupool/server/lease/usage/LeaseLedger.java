// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.lease.usage;

import io.netty.channel.unix.FileDescriptor;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.VarHandle;
import java.util.Objects;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * The ledger of the memory that the sessions of a lease use, shared with their workers through a
 * file that lives in memory alone. Workers count up and down; the server reads, and takes off what
 * a dead worker had.
 *
 * <pre>
 *   GPU 0: u64 total | u64 slot 0 | ... | u64 slot 63     GPU 1: ...     memory of the host: ...
 *   unused credit of GPU 0: ...     of GPU 1: ...
 * </pre>
 */
public final class LeaseLedger implements AutoCloseable {
  public static final int SLOTS = 64;
  private static final int WORDS = 1 + SLOTS;
  private static final VarHandle WORD = ValueLayout.JAVA_LONG.varHandle();

  private final int gpus;
  private final @Nullable SharedMemory memory;
  private final MemorySegment words;

  /** Of a lease on another server's GPUs, of whose use nothing is known here. */
  private LeaseLedger() {
    gpus = 0;
    memory = null;
    words = MemorySegment.NULL;
  }

  public static LeaseLedger remote() {
    return new LeaseLedger();
  }

  public LeaseLedger(String name, int gpus) throws IOException {
    this(new SharedMemory(name, lengthBytes(gpus)), gpus);
  }

  private LeaseLedger(SharedMemory memory, int gpus) {
    this.gpus = gpus;
    this.memory = memory;
    words = memory.bytes();
  }

  /**
   * The ledger that the server's former process has left, or a new one.
   *
   * @param former the lease as it was left; null: no session of it goes on
   */
  public static LeaseLedger of(String name, int gpus, @Nullable FormerLease former)
      throws IOException {
    SharedMemory left = former == null ? null : former.takeLedger();
    if (former == null || left == null || left.bytes().byteSize() != lengthBytes(gpus)) {
      if (left != null) {
        left.close();
      }
      return new LeaseLedger(name, gpus);
    }
    LeaseLedger ledger = new LeaseLedger(left, gpus);
    ledger.clearSlotsBut(former.slots());
    return ledger;
  }

  private static long lengthBytes(int gpus) {
    return (long) rows(gpus) * WORDS * Long.BYTES;
  }

  private static int rows(int gpus) {
    return 2 * gpus + 1;
  }

  private void clearSlotsBut(Set<Integer> kept) {
    for (int slot = 0; slot < SLOTS; slot++) {
      if (!kept.contains(slot)) {
        clearSlot(slot);
      }
    }
  }

  /** Returns the file that the workers share. */
  MemoryFile file() {
    return Objects.requireNonNull(memory).file();
  }

  /** Returns a descriptor for a worker, which the caller must close. */
  public FileDescriptor share() {
    return Objects.requireNonNull(memory).share();
  }

  public long usedBytes(int gpu) {
    return usedOf(gpu, 0);
  }

  public long usedBytes(int gpu, int slot) {
    return usedOf(gpu, 1 + slot);
  }

  /** Without credit that programs have been granted and have not used. */
  private long usedOf(int gpu, int word) {
    if (gpus == 0) {
      return 0;
    }
    long counted = (long) WORD.getVolatile(words, at(gpu, word));
    long credit = (long) WORD.getVolatile(words, at(gpus + 1 + gpu, word));
    return atLeastNothing(counted - atLeastNothing(credit));
  }

  /** A worker that was broken into may have written anything there. */
  private static long atLeastNothing(long bytes) {
    return Math.max(0, bytes);
  }

  /** Has some of one slot's memory count for another. */
  public void move(int gpu, long bytes, int from, int to) {
    if (gpus > 0) {
      WORD.getAndAdd(words, at(gpu, 1 + from), -bytes);
      WORD.getAndAdd(words, at(gpu, 1 + to), bytes);
    }
  }

  /** Has some memory count for a slot, for which nobody counts it. */
  public void charge(int gpu, long bytes, int slot) {
    if (gpus > 0) {
      WORD.getAndAdd(words, at(gpu, 0), bytes);
      WORD.getAndAdd(words, at(gpu, 1 + slot), bytes);
    }
  }

  /** Takes off some of a slot's memory, which its worker does not count. */
  public void release(int gpu, long bytes, int slot) {
    if (gpus > 0) {
      WORD.getAndAdd(words, at(gpu, 1 + slot), -bytes);
      WORD.getAndAdd(words, at(gpu, 0), -bytes);
    }
  }

  /** Takes off what a slot's worker had; it must be dead. */
  public void clearSlot(int slot) {
    int rows = gpus == 0 ? 0 : rows(gpus);
    for (int row = 0; row < rows; row++) {
      long used = (long) WORD.getAndSet(words, at(row, 1 + slot), 0L);
      WORD.getAndAdd(words, at(row, 0), -used);
    }
  }

  @Override
  public void close() throws IOException {
    if (memory != null) {
      memory.close();
    }
  }

  private static long at(int row, int word) {
    return ((long) row * WORDS + word) * Long.BYTES;
  }
}
