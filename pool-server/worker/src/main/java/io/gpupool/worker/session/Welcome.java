// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker.session;

import io.gpupool.cuda.Backend;
import io.gpupool.cuda.DeviceFlag;
import io.gpupool.cuda.Ops;
import io.gpupool.worker.os.Memory;
import io.gpupool.worker.session.quota.LeasedGpu;
import java.lang.foreign.Arena;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.ArrayList;
import java.util.List;

/** The first frame of a call stream: the driver and the GPUs of the lease, asked for once. */
final class Welcome {
  static final int ATTRIBUTES = 160;
  static final int HEADER_BYTES = 16;
  static final int NAME_BYTES = 256;
  static final int UUID_BYTES = 16;
  static final int PCI_BYTES = 16;
  static final int DEVICE_BYTES = NAME_BYTES + UUID_BYTES + PCI_BYTES + 8 + 4 * ATTRIBUTES;

  private final List<Integer> devices = new ArrayList<>();
  private final byte[] payload;

  /**
   * Asks the backend.
   *
   * @throws IllegalStateException if a GPU of the lease is not there
   */
  Welcome(Backend backend, List<LeasedGpu> gpus) {
    try (Arena arena = Arena.ofConfined()) {
      long out = arena.allocate(512, 8).address();
      require("cuInit", backend.cuInit(0));
      require("cuDriverGetVersion", backend.cuDriverGetVersion(out));
      ByteBuffer buffer =
          ByteBuffer.allocate(HEADER_BYTES + DEVICE_BYTES * gpus.size())
              .order(ByteOrder.LITTLE_ENDIAN);
      buffer.putInt(Memory.getInt(out)).putInt(gpus.size()).putInt(ATTRIBUTES).putInt(Ops.DIGEST);
      for (LeasedGpu gpu : gpus) {
        require("cuDeviceGet " + gpu.ordinal(), backend.cuDeviceGet(out, gpu.ordinal()));
        int device = Memory.getInt(out);
        devices.add(device);
        describe(backend, device, gpu, out, buffer);
      }
      payload = buffer.array();
    }
  }

  /** The backend's CUdevice of each GPU of the lease. */
  List<Integer> devices() {
    return devices;
  }

  byte[] payload() {
    return payload;
  }

  private static void describe(
      Backend backend, int device, LeasedGpu gpu, long out, ByteBuffer buffer) {
    Memory.clear(out, NAME_BYTES);
    require("cuDeviceGetName", backend.cuDeviceGetName(out, NAME_BYTES, device));
    buffer.put(Memory.bytes(out, NAME_BYTES));
    Memory.clear(out, NAME_BYTES);
    backend.cuDeviceGetUuid_v2(out, device);
    buffer.put(Memory.bytes(out, UUID_BYTES));
    Memory.clear(out, NAME_BYTES);
    backend.cuDeviceGetPCIBusId(out, PCI_BYTES, device);
    buffer.put(Memory.bytes(out, PCI_BYTES));
    buffer.putLong(gpu.quotaBytes());
    // CUDA has no attribute 0.
    buffer.putInt(flags(backend));
    for (int attribute = 1; attribute < ATTRIBUTES; attribute++) {
      Memory.putLong(out, 0);
      boolean known = backend.cuDeviceGetAttribute(out, attribute, device) == 0;
      buffer.putInt(known ? Memory.getInt(out) : Integer.MIN_VALUE);
    }
  }

  private static int flags(Backend backend) {
    return (backend.allocatesAt() ? DeviceFlag.ALLOCATES_AT : 0)
        | (backend.carriesOutCollectives() ? DeviceFlag.COLLECTIVES : 0);
  }

  private static void require(String call, int result) {
    if (result != 0) {
      throw new IllegalStateException(call + " failed with CUDA error " + result);
    }
  }
}
