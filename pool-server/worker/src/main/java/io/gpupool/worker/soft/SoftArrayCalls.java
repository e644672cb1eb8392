// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker.soft;

import io.gpupool.soft.CudaStatus;
import io.gpupool.soft.GpuException;
import io.gpupool.soft.device.SoftArray;
import io.gpupool.soft.device.SoftMipmap;
import io.gpupool.soft.device.spec.ArrayShape;
import io.gpupool.worker.os.Memory;

/** Driver calls that make arrays, and copies from and to them. */
interface SoftArrayCalls extends SoftCalls {
  @Override
  default int cuArray3DCreate_v2(long array, long descriptor) {
    return call(() ->
        Memory.putLong(array, state().handles().add(context().createArray(shape(descriptor)))));
  }

  @Override
  default int cuArrayDestroy(long array) {
    return call(() -> {
      state().handles().get(array, SoftArray.class).destroy();
      state().handles().remove(array, SoftArray.class);
    });
  }

  @Override
  default int cuMipmappedArrayCreate(long mipmap, long descriptor, int levels) {
    return call(() -> {
      SoftMipmap made = context().createMipmap(shape(descriptor), levels);
      Memory.putLong(mipmap, state().handles().add(new LoadedMipmap(made, state().handles())));
    });
  }

  @Override
  default int cuMipmappedArrayGetLevel(long array, long mipmap, int level) {
    return call(() ->
        Memory.putLong(
            array, state().handles().get(mipmap, LoadedMipmap.class).levelHandle(level)));
  }

  @Override
  default int cuMipmappedArrayDestroy(long mipmap) {
    return call(() -> state().handles().remove(mipmap, LoadedMipmap.class).destroy());
  }

  @Override
  default int cuArrayGetMemoryRequirements(long requirements, long array, int device) {
    return call(() -> notDeferred(state().handles().get(array, SoftArray.class).shape()));
  }

  @Override
  default int cuMipmappedArrayGetMemoryRequirements(long requirements, long mipmap, int device) {
    return call(() -> notDeferred(state().handles().get(mipmap, LoadedMipmap.class).shape()));
  }

  @Override
  default int cuMemcpy3DAsync_v2(long description, long stream) {
    return call(() -> new BoxCopy(state().handles(), description).submit(stream(stream)));
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
