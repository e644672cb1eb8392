// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker.soft.context;

import io.gpupool.cuda.ContextCalls;
import io.gpupool.soft.device.context.PrimaryContext;
import io.gpupool.soft.device.context.SoftContext;
import io.gpupool.worker.os.Memory;
import io.gpupool.worker.soft.state.ContextHandle;
import io.gpupool.worker.soft.state.SoftCalls;
import io.gpupool.worker.soft.state.SoftState;
import io.gpupool.worker.soft.state.Waiting;

/** Driver calls about contexts. */
public final class SoftContextCalls extends SoftCalls implements ContextCalls {
  public SoftContextCalls(SoftState state) {
    super(state);
  }

  @Override
  public int cuDevicePrimaryCtxRetain(long context, int device) {
    return call(() -> {
      PrimaryContext owner = primary(device);
      owner.retain();
      Memory.putLong(context, state().primaryHandle(owner));
    });
  }

  @Override
  public int cuDevicePrimaryCtxRelease_v2(int device) {
    return call(() -> primary(device).release());
  }

  @Override
  public int cuDevicePrimaryCtxSetFlags_v2(int device, int flags) {
    return call(() -> primary(device).setFlags(flags));
  }

  @Override
  public int cuDevicePrimaryCtxReset_v2(int device) {
    return call(() -> primary(device).reset());
  }

  @Override
  public int cuCtxCreate_v2(long context, int flags, int device) {
    return call(() -> {
      long handle =
          state().handles().add(new ContextHandle.Created(new SoftContext(device(device), flags)));
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
