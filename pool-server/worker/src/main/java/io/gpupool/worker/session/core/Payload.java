// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker.session.core;

import io.gpupool.cuda.WireStruct;
import io.gpupool.worker.os.Memory;
import java.lang.foreign.Arena;

/** The variable outputs of one reply. */
public final class Payload {
  private final long start;
  private final long capacityBytes;
  private long end;

  public Payload(Arena arena, long capacityBytes) {
    this.capacityBytes = capacityBytes;
    start = arena.allocate(capacityBytes, 8).address();
    end = start;
  }

  /** Adds a length and bytes, if they are wanted. */
  public void variable(boolean wanted, byte[] bytes) {
    if (wanted) {
      long next = end + 8 + WireStruct.padded(bytes.length);
      if (next - start > capacityBytes) {
        throw new IllegalStateException("reply of more than " + capacityBytes + " bytes");
      }
      Memory.putLong(end, bytes.length);
      Memory.put(end + 8, bytes, bytes.length);
      end = next;
    }
  }

  public long address() {
    return start;
  }

  public int lengthBytes() {
    return (int) (end - start);
  }
}
