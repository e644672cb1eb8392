// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker.soft;

import io.gpupool.cuda.ContextCalls;
import io.gpupool.soft.device.SoftContext;
import io.gpupool.soft.device.SoftDevice;
import io.gpupool.worker.os.Memory;

/** Driver calls about contexts. */
final class SoftContextCalls extends SoftCalls implements ContextCalls {
  SoftContextCalls(SoftState state) {
    super(state);
  }

  @Override
  public int cuDevicePrimaryCtxRetain(long context, int device) {
    return call(() -> {
      SoftDevice owner = device(device);
      owner.retainPrimary();
      Memory.putLong(context, state().primaryHandle(owner));
    });
  }

  @Override
  public int cuDevicePrimaryCtxRelease_v2(int device) {
    return call(() -> device(device).releasePrimary());
  }

  @Override
  public int cuDevicePrimaryCtxSetFlags_v2(int device, int flags) {
    return call(() -> device(device).setPrimaryFlags(flags));
  }

  @Override
  public int cuDevicePrimaryCtxReset_v2(int device) {
    return call(() -> device(device).resetPrimary());
  }

  @Override
  public int cuCtxCreate_v2(long context, int flags, int device) {
    return call(() -> {
      long handle =
          state().handles().add(new ContextHandle.Created(device(device).createContext(flags)));
      state().setCurrent(handle);
      Memory.putLong(context, handle);
    });
  }

  @Override
  public int cuCtxDestroy_v2(long context) {
    return call(
        () -> state().handles().remove(context, ContextHandle.Created.class).context().destroy());
  }

  @Override
  public int cuCtxSetCurrent(long context) {
    return call(() -> state().setCurrent(context));
  }

  @Override
  public int cuCtxSynchronize() {
    return call(() -> {
      SoftContext context = context();
      Waiting.await(context.completion());
      context.requireUsable();
    });
  }

  @Override
  public int cuCtxSetLimit(int limit, long value) {
    return call(() -> context().setLimit(limit, value));
  }

  @Override
  public int cuCtxGetLimit(long value, int limit) {
    return call(() -> Memory.putLong(value, context().limits().get(limit)));
  }
}
