// SPDX-License-Identifier: Apache-2.0
package io.gpupool.soft.exec.memory;

import java.util.concurrent.locks.ReentrantLock;

/**
 * Accesses of 128 bits at checked native addresses, each as a whole with respect to the others: the
 * JVM has none wider than 64 bits, so that a lock guards them. Called by generated code.
 */
public final class WideAtomics {
  private static final int LOCKS = 64;

  private static final ReentrantLock[] STRIPES = new ReentrantLock[LOCKS];

  static {
    for (int i = 0; i < LOCKS; i++) {
      STRIPES[i] = new ReentrantLock();
    }
  }

  private WideAtomics() {}

  private static ReentrantLock lock(long address) {
    return STRIPES[(int) (address >>> 4) & LOCKS - 1];
  }

  /** The lower and upper half. */
  public static long[] load(long address) {
    ReentrantLock lock = lock(address);
    lock.lock();
    try {
      return new long[] {NativeMemory.acquireLong(address), NativeMemory.acquireLong(address + 8)};
    } finally {
      lock.unlock();
    }
  }

  /** Returns the halves before. */
  public static long[] exchange(long address, long low, long high) {
    ReentrantLock lock = lock(address);
    lock.lock();
    try {
      long[] old = {NativeMemory.acquireLong(address), NativeMemory.acquireLong(address + 8)};
      NativeMemory.releaseLong(address, low);
      NativeMemory.releaseLong(address + 8, high);
      return old;
    } finally {
      lock.unlock();
    }
  }

  /** Returns the halves before, which are replaced if they are the expected ones. */
  public static long[] compareAndExchange(
      long address, long expectedLow, long expectedHigh, long low, long high) {
    ReentrantLock lock = lock(address);
    lock.lock();
    try {
      long[] old = {NativeMemory.acquireLong(address), NativeMemory.acquireLong(address + 8)};
      if (old[0] == expectedLow && old[1] == expectedHigh) {
        NativeMemory.releaseLong(address, low);
        NativeMemory.releaseLong(address + 8, high);
      }
      return old;
    } finally {
      lock.unlock();
    }
  }
}
