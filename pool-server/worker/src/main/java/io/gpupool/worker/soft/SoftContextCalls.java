// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker.soft;

import io.gpupool.soft.device.SoftContext;
import io.gpupool.soft.device.SoftDevice;
import io.gpupool.worker.os.Memory;

/** Driver calls about contexts. */
interface SoftContextCalls extends SoftCalls {
  @Override
  default int cuDevicePrimaryCtxRetain(long context, int device) {
    return call(() -> {
      SoftDevice owner = device(device);
      owner.retainPrimary();
      Memory.putLong(context, state().primaryHandle(owner));
    });
  }

  @Override
  default int cuDevicePrimaryCtxRelease_v2(int device) {
    return call(() -> device(device).releasePrimary());
  }

  @Override
  default int cuDevicePrimaryCtxSetFlags_v2(int device, int flags) {
    return call(() -> device(device).setPrimaryFlags(flags));
  }

  @Override
  default int cuDevicePrimaryCtxReset_v2(int device) {
    return call(() -> device(device).resetPrimary());
  }

  @Override
  default int cuCtxCreate_v2(long context, int flags, int device) {
    return call(() -> {
      long handle = state().handles().add(device(device).createContext(flags));
      state().setCurrent(handle);
      Memory.putLong(context, handle);
    });
  }

  @Override
  default int cuCtxDestroy_v2(long context) {
    return call(() -> state().handles().remove(context, SoftContext.class).destroy());
  }

  @Override
  default int cuCtxSetCurrent(long context) {
    return call(() -> state().setCurrent(context));
  }

  @Override
  default int cuCtxSynchronize() {
    return call(() -> {
      SoftContext context = context();
      Waiting.await(context.completion());
      context.requireUsable();
    });
  }

  @Override
  default int cuCtxSetLimit(int limit, long value) {
    return call(() -> context().setLimit(limit, value));
  }

  @Override
  default long heapBytes() {
    return state().currentContext().heap().occupiedBytes();
  }

  @Override
  default int cuCtxGetLimit(long value, int limit) {
    return call(() -> Memory.putLong(value, context().limits().get(limit)));
  }
}
