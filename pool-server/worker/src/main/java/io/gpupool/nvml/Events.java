// SPDX-License-Identifier: Apache-2.0
package io.gpupool.nvml;

import java.util.Optional;

/** Faults of GPUs as the driver reports them, one after the other. For one thread. */
public final class Events {
  static final long DOUBLE_BIT_ERROR = 0x2;
  static final long XID = 0x8;
  private static final int WHOLE_CARD = -1;

  private final LibNvml library;
  private final long set;
  private final LibNvml.EventData event = new LibNvml.EventData();

  Events(LibNvml library, long set) {
    this.library = library;
    this.set = set;
  }

  /**
   * A fault.
   *
   * @param card NVML's handle
   * @param instance the GPU instance of a slice; negative: the whole card
   * @param xid NVIDIA's number of it; 0 for an error of memory that could not be corrected
   */
  public record Fault(long card, int instance, int xid) {
    /** Returns whether it is one of this device. */
    public boolean isOf(Nvml.Device device) {
      return device.card() == card
          && (instance == WHOLE_CARD || device.instance() == null || device.instance() == instance);
    }
  }

  /**
   * Waits for the next one.
   *
   * @return empty if none has come in that time
   * @throws IllegalStateException if the driver reports no more
   */
  public Optional<Fault> await(int timeoutMillis) {
    int result = library.nvmlEventSetWait_v2(set, event, timeoutMillis);
    if (result == LibNvml.TIMEOUT) {
      return Optional.empty();
    }
    if (result != LibNvml.SUCCESS) {
      throw new IllegalStateException("nvmlEventSetWait failed with NVML error " + result);
    }
    int xid = event.type == XID ? (int) event.data : 0;
    return Optional.of(new Fault(event.device, event.gpuInstance, xid));
  }
}
