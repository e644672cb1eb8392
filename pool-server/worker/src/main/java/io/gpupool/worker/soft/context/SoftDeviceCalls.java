// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker.soft.context;

import io.gpupool.cuda.DeviceCalls;
import io.gpupool.soft.CudaStatus;
import io.gpupool.soft.GpuException;
import io.gpupool.soft.device.SoftGpu;
import io.gpupool.worker.os.Memory;
import io.gpupool.worker.soft.state.SoftCalls;
import io.gpupool.worker.soft.state.SoftState;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.UUID;

/** Driver calls about devices. */
public final class SoftDeviceCalls extends SoftCalls implements DeviceCalls {
  public SoftDeviceCalls(SoftState state) {
    super(state);
  }

  @Override
  public int cuInit(int flags) {
    return (flags == 0 ? CudaStatus.SUCCESS : CudaStatus.INVALID_VALUE).code();
  }

  @Override
  public int cuDriverGetVersion(long version) {
    Memory.putInt(version, SoftGpu.DRIVER_VERSION);
    return CudaStatus.SUCCESS.code();
  }

  @Override
  public int cuDeviceGetCount(long count) {
    Memory.putInt(count, state().gpu().devices().size());
    return CudaStatus.SUCCESS.code();
  }

  @Override
  public int cuDeviceGet(long device, int ordinal) {
    return call(() -> Memory.putInt(device, device(ordinal).ordinal()));
  }

  @Override
  public int cuDeviceGetName(long name, int length, int device) {
    return call(() -> putText(name, length, device(device).name()));
  }

  @Override
  public int cuDeviceGetUuid_v2(long uuid, int device) {
    return call(() -> {
      UUID value = device(device).uuid();
      ByteBuffer bytes = ByteBuffer.allocate(16);
      bytes.putLong(value.getMostSignificantBits()).putLong(value.getLeastSignificantBits());
      Memory.put(uuid, bytes.array(), 16);
    });
  }

  @Override
  public int cuDeviceTotalMem_v2(long bytes, int device) {
    return call(() -> Memory.putLong(bytes, device(device).totalMemoryBytes()));
  }

  @Override
  public int cuDeviceGetAttribute(long value, int attribute, int device) {
    return call(() -> Memory.putInt(value, device(device).attribute(attribute)));
  }

  @Override
  public int cuDeviceGetPCIBusId(long busId, int length, int device) {
    return call(() -> putText(busId, length, device(device).pciBusId()));
  }

  private static void putText(long address, int capacity, String text) {
    if (capacity < 1) {
      throw new GpuException(CudaStatus.INVALID_VALUE, "no room for a text");
    }
    byte[] bytes = text.getBytes(StandardCharsets.UTF_8);
    int length = Math.min(bytes.length, capacity - 1);
    Memory.put(address, bytes, length);
    Memory.putByte(address + length, 0);
  }
}
