// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker.session;

import io.gpupool.worker.os.Memory;
import io.gpupool.worker.os.Posix;
import java.util.concurrent.atomic.AtomicLong;

/** Memory that is mapped, and in part touched, before it is needed. Any thread may use it. */
final class PreparedMemory {
  private final int lengthBytes;
  private final int touchedBytes;

  /** The address of the next one; 0: none. */
  private final AtomicLong next = new AtomicLong();

  /**
   * Starts with none.
   *
   * @param touchedBytes at its beginning, for which nobody has to wait for pages
   */
  PreparedMemory(int lengthBytes, int touchedBytes) {
    this.lengthBytes = lengthBytes;
    this.touchedBytes = touchedBytes;
  }

  void prepare() {
    long memory = Posix.map(lengthBytes);
    if (memory != 0) {
      Memory.clear(memory, touchedBytes);
      long former = next.getAndSet(memory);
      if (former != 0) {
        Posix.unmap(former, lengthBytes);
      }
    }
  }

  /** Returns the address of memory that is the caller's to unmap, prepared or not; 0: none. */
  long take() {
    long prepared = next.getAndSet(0);
    return prepared != 0 ? prepared : Posix.map(lengthBytes);
  }
}
