// SPDX-License-Identifier: Apache-2.0
package io.gpupool.soft.exec.access;

import io.gpupool.soft.exec.launch.DeviceFaultException;
import io.gpupool.soft.exec.launch.KernelFaultException;
import io.gpupool.soft.exec.memory.NativeMemory;

/**
 * The {@code mbarrier} objects in a block's shared memory, at checked native addresses. Only the
 * worker thread that runs the block touches them. Called by generated code.
 *
 * <pre>
 *  63     62..40                         39..20                  19..0
 *  phase  bytes still to come, signed    arrivals a phase has    arrivals still to come
 * </pre>
 */
public final class MemoryBarriers {
  private static final int COUNT_BITS = 20;
  private static final long COUNT_MASK = (1L << COUNT_BITS) - 1;
  private static final int BYTES_SHIFT = 2 * COUNT_BITS;
  private static final long BYTES_MASK = (1L << 63 - BYTES_SHIFT) - 1;

  private MemoryBarriers() {}

  public static void init(long address, int count) {
    if (count < 1 || count > COUNT_MASK) {
      throw new DeviceFaultException(
          KernelFaultException.ILLEGAL_INSTRUCTION, "mbarrier.init for " + count + " arrivals");
    }
    NativeMemory.putLong(address, pack(0, 0, count, count));
  }

  /** Arrives; returns the state before, which waiting takes. */
  public static long arrive(long address, int count) {
    long before = NativeMemory.getLong(address);
    store(address, before, bytes(before), expected(before), pending(before) - count);
    return before;
  }

  /** Arrives for good: later phases expect less. */
  public static long arriveAndDrop(long address, int count) {
    long before = NativeMemory.getLong(address);
    store(address, before, bytes(before), expected(before) - count, pending(before) - count);
    return before;
  }

  /** Waits for more bytes to be copied (positive), or tells that some were (negative). */
  public static void expectBytes(long address, int bytes) {
    long before = NativeMemory.getLong(address);
    store(address, before, bytes(before) + bytes, expected(before), pending(before));
  }

  public static long arriveExpecting(long address, int bytes) {
    long before = NativeMemory.getLong(address);
    store(address, before, bytes(before) + bytes, expected(before), pending(before) - 1);
    return before;
  }

  /** Whether the phase of an arrival's state is over. */
  public static int test(long address, long state) {
    return (NativeMemory.getLong(address) ^ state) < 0 ? 1 : 0;
  }

  /** Whether the last phase of a parity is over. */
  public static int testParity(long address, int parity) {
    return (int) (NativeMemory.getLong(address) >>> 63) != (parity & 1) ? 1 : 0;
  }

  /** Arrivals that were still to come in a state. */
  public static int pendingCount(long state) {
    return (int) pending(state);
  }

  private static void store(long address, long before, long bytes, long expected, long pending) {
    if (pending < 0 || expected < 0) {
      throw new DeviceFaultException(
          KernelFaultException.ILLEGAL_INSTRUCTION, "more arrivals at an mbarrier than it expects");
    }
    long phase = before >>> 63;
    boolean complete = pending == 0 && bytes == 0;
    NativeMemory.putLong(
        address,
        complete ? pack(phase ^ 1, 0, expected, expected) : pack(phase, bytes, expected, pending));
  }

  private static long pack(long phase, long bytes, long expected, long pending) {
    return phase << 63 | (bytes & BYTES_MASK) << BYTES_SHIFT | expected << COUNT_BITS | pending;
  }

  private static long bytes(long state) {
    return state << 1 >> BYTES_SHIFT + 1;
  }

  private static long expected(long state) {
    return state >>> COUNT_BITS & COUNT_MASK;
  }

  private static long pending(long state) {
    return state & COUNT_MASK;
  }
}
