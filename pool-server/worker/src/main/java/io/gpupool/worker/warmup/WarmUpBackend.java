// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker.warmup;

import io.gpupool.cuda.Backend;
import io.gpupool.worker.os.Memory;

/** Backend that accepts the calls of a {@link WarmUp} and does nothing. */
final class WarmUpBackend implements Backend {
  private static final int HANDLE = 16;

  @Override
  public int cuInit(int flags) {
    return 0;
  }

  @Override
  public int cuDriverGetVersion(long version) {
    return 0;
  }

  @Override
  public int cuDeviceGet(long device, int ordinal) {
    return 0;
  }

  @Override
  public int cuDeviceGetName(long name, int len, int dev) {
    return 0;
  }

  @Override
  public int cuDevicePrimaryCtxRetain(long context, int dev) {
    return made(context);
  }

  @Override
  public int cuCtxSetCurrent(long context) {
    return 0;
  }

  @Override
  public int cuModuleLoadDataEx(
      long module, long image, int numOptions, long options, long optionValues) {
    return made(module);
  }

  @Override
  public int cuModuleGetFunctionCount(long count, long module) {
    return 0;
  }

  @Override
  public int cuModuleGetFunction(long function, long module, long name) {
    return made(function);
  }

  @Override
  public int cuStreamCreateWithPriority(long stream, int flags, int priority) {
    return made(stream);
  }

  @Override
  public int cuStreamQuery(long stream) {
    return 0;
  }

  @Override
  public int cuEventCreate(long event, int flags) {
    return made(event);
  }

  @Override
  public int cuEventRecord(long event, long stream) {
    return 0;
  }

  @Override
  public int cuEventQuery(long event) {
    return 0;
  }

  @Override
  public int cuMemAlloc_v2(long address, long bytes) {
    return made(address);
  }

  @Override
  public int cuMemFree_v2(long address) {
    return 0;
  }

  @Override
  public int cuMemcpyHtoDAsync_v2(long target, long source, long bytes, long stream) {
    return 0;
  }

  @Override
  public int cuMemcpyDtoHAsync_v2(long target, long source, long bytes, long stream) {
    return 0;
  }

  @Override
  public int cuMemsetD8Async(long address, int value, long count, long stream) {
    return 0;
  }

  @Override
  public int cuLaunchKernel(
      long function,
      int gridX,
      int gridY,
      int gridZ,
      int blockX,
      int blockY,
      int blockZ,
      int sharedBytes,
      long stream,
      long parameters,
      long extra) {
    return 0;
  }

  private static int made(long out) {
    Memory.putLong(out, HANDLE);
    return 0;
  }
}
