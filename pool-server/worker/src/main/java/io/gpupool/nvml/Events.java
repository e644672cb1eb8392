// SPDX-License-Identifier: Apache-2.0
package io.gpupool.nvml;

import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.Optional;

/** Faults of GPUs as the driver tells them, one after the other. For one thread. */
public final class Events {
  static final long DOUBLE_BIT_ERROR = 0x2;
  static final long XID = 0x8;
  private static final int DATA_BYTES = 32;
  private static final int WHOLE_CARD = -1;

  private final LibNvml library;
  private final long set;
  private final MemorySegment data;

  Events(LibNvml library, Arena arena, long set) {
    this.library = library;
    this.set = set;
    data = arena.allocate(DATA_BYTES, 8);
  }

  /**
   * A fault.
   *
   * @param card NVML's handle
   * @param instance the GPU instance of a slice; negative: the whole card
   * @param xid NVIDIA's number of it; 0 for an error of memory that could not be corrected
   */
  public record Fault(long card, int instance, int xid) {
    /** Whether it is one of this device. */
    public boolean isOf(Nvml.Device device) {
      return device.card() == card
          && (instance == WHOLE_CARD || device.instance().orElse(instance) == instance);
    }
  }

  /**
   * Waits for the next one.
   *
   * @return empty if none has come in that time
   * @throws IllegalStateException if the driver tells no more
   */
  public Optional<Fault> await(int timeoutMillis) {
    int result = library.call("nvmlEventSetWait_v2", set, data.address(), timeoutMillis);
    if (result == LibNvml.TIMEOUT) {
      return Optional.empty();
    }
    if (result != LibNvml.SUCCESS) {
      throw new IllegalStateException("nvmlEventSetWait failed with NVML error " + result);
    }
    int xid = data.get(JAVA_LONG, 8) == XID ? (int) data.get(JAVA_LONG, 16) : 0;
    return Optional.of(new Fault(data.get(JAVA_LONG, 0), data.get(JAVA_INT, 24), xid));
  }
}
