// SPDX-License-Identifier: Apache-2.0
package io.gpupool.cuda;

/**
 * A window of this process onto the memory of GPUs, through which it is read and written whatever
 * work is under way. One thread at a time uses it.
 */
public interface MemoryWindow extends AutoCloseable {
  /** The most bytes that are read or written at a time, unless the memory is {@link #inPlace}. */
  int MAX_BYTES = 16 << 20;

  /** Whether device memory is memory of this process, which is read and written where it is. */
  boolean inPlace();

  /**
   * Returns where some bytes of a GPU can be read, until the window is used again: where they are,
   * or a copy; 0 if they cannot be read.
   */
  long read(long address, long lengthBytes);

  /**
   * Returns where to put bytes that {@link #write} is to write next: where they belong, or a place
   * of the window's; 0 if there is none.
   */
  long space(long address, long lengthBytes);

  /** Writes what was put there; returns a CUresult. */
  int write(long address, long lengthBytes);

  @Override
  void close();
}
