// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker.nvidia;

import io.gpupool.cuda.CudaResult;
import io.gpupool.worker.os.Memory;
import java.lang.foreign.Arena;
import java.util.OptionalLong;

/**
 * A page-locked area for copies from and to a GPU that wait for no other work: neither for the
 * program's streams, nor for the lease's time slice. Guarded by the lock of the GPU's memory.
 */
final class StagingArea {
  private static final int NON_BLOCKING = 1;

  private final NvidiaMovable driver;
  private final int gpu;
  private final int lengthBytes;
  private final long out = Arena.global().allocate(Long.BYTES, Long.BYTES).address();

  /** The context that the others are of; 0: there is nothing. */
  private long context;

  private long stream;
  private long address;

  StagingArea(NvidiaMovable driver, int gpu, int lengthBytes) {
    this.driver = driver;
    this.gpu = gpu;
    this.lengthBytes = lengthBytes;
  }

  /** Returns the address of the area; 0 if there can be none. */
  long address() {
    return inContext(() -> 0) == 0 ? address : 0;
  }

  /** Copies from the GPU to the beginning of the area, and waits for that; a CUresult. */
  int read(long device, long bytes) {
    return inContext(() -> driver.copyToHost(address, device, bytes, stream));
  }

  /** Copies the beginning of the area to the GPU, and waits for that; a CUresult. */
  int write(long device, long bytes) {
    return inContext(() -> driver.copyToDevice(device, address, bytes, stream));
  }

  /** Has the driver do something; a CUresult. */
  private interface Call {
    int call();
  }

  private int inContext(Call call) {
    long before = driver.currentContext();
    OptionalLong any = context != 0 ? OptionalLong.of(context) : driver.contexts().any(gpu);
    if (any.isEmpty()) {
      return CudaResult.INVALID_CONTEXT;
    }
    int result = driver.cuCtxSetCurrent(any.getAsLong());
    if (result == 0 && context == 0) {
      result = open(any.getAsLong());
    }
    if (result == 0) {
      result = call.call();
    }
    if (result == 0) {
      result = driver.cuStreamSynchronize(stream);
    }
    int ignored = driver.cuCtxSetCurrent(before);
    return result;
  }

  private int open(long current) {
    int result = driver.cuStreamCreateWithPriority(out, NON_BLOCKING, 0);
    if (result != 0) {
      return result;
    }
    stream = Memory.getLong(out);
    result = driver.cuMemHostAlloc(out, lengthBytes, 0);
    if (result != 0) {
      int ignored = driver.cuStreamDestroy_v2(stream);
      return result;
    }
    address = Memory.getLong(out);
    context = current;
    return 0;
  }

  /** Gives back the area, which is made again if it is needed again. */
  void close() {
    if (context == 0) {
      return;
    }
    long before = driver.currentContext();
    if (driver.cuCtxSetCurrent(context) == 0) {
      int freed = driver.cuMemFreeHost(address);
      int destroyed = driver.cuStreamDestroy_v2(stream);
      int ignored = driver.cuCtxSetCurrent(before);
    }
    context = 0;
  }

  /** A context is about to end. */
  void contextEnds(long ending) {
    if (context == ending) {
      close();
    }
  }
}
