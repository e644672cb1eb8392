// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker.soft.texture;

import io.gpupool.cuda.ArrayCalls;
import io.gpupool.soft.CudaStatus;
import io.gpupool.soft.GpuException;
import io.gpupool.soft.device.array.SoftArray;
import io.gpupool.soft.device.array.SoftMipmap;
import io.gpupool.soft.device.spec.ArrayShape;
import io.gpupool.worker.os.Memory;
import io.gpupool.worker.soft.state.SoftCalls;
import io.gpupool.worker.soft.state.SoftState;

/** Driver calls that make arrays, and copies from and to them. */
public final class SoftArrayCalls extends SoftCalls implements ArrayCalls {
  public SoftArrayCalls(SoftState state) {
    super(state);
  }

  @Override
  public int cuArray3DCreate_v2(long array, long descriptor) {
    return call(() ->
        Memory.putLong(
            array, state().handles().add(SoftArray.create(context(), shape(descriptor)))));
  }

  @Override
  public int cuArrayDestroy(long array) {
    return call(() -> {
      state().handles().get(array, SoftArray.class).destroy();
      state().handles().remove(array, SoftArray.class);
    });
  }

  @Override
  public int cuMipmappedArrayCreate(long mipmap, long descriptor, int levels) {
    return call(() -> {
      SoftMipmap made = SoftMipmap.create(context(), shape(descriptor), levels);
      Memory.putLong(mipmap, state().handles().add(new LoadedMipmap(made, state().handles())));
    });
  }

  @Override
  public int cuMipmappedArrayGetLevel(long array, long mipmap, int level) {
    return call(() ->
        Memory.putLong(
            array, state().handles().get(mipmap, LoadedMipmap.class).levelHandle(level)));
  }

  @Override
  public int cuMipmappedArrayDestroy(long mipmap) {
    return call(() -> state().handles().remove(mipmap, LoadedMipmap.class).destroy());
  }

  @Override
  public int cuArrayGetMemoryRequirements(long requirements, long array, int device) {
    return call(() -> notDeferred(state().handles().get(array, SoftArray.class).shape()));
  }

  @Override
  public int cuMipmappedArrayGetMemoryRequirements(long requirements, long mipmap, int device) {
    return call(() -> notDeferred(state().handles().get(mipmap, LoadedMipmap.class).shape()));
  }

  private static void notDeferred(ArrayShape shape) {
    throw new GpuException(
        CudaStatus.INVALID_VALUE, shape + " was not made with CUDA_ARRAY3D_DEFERRED_MAPPING");
  }

  private static ArrayShape shape(long descriptor) {
    return ArrayShape.of(
        Memory.getLong(descriptor),
        Memory.getLong(descriptor + 8),
        Memory.getLong(descriptor + 16),
        Memory.getInt(descriptor + 24),
        Memory.getInt(descriptor + 28),
        Memory.getInt(descriptor + 32));
  }
}
