// SPDX-License-Identifier: Apache-2.0
package io.gpupool.soft.device.array;

import io.gpupool.soft.CudaStatus;
import io.gpupool.soft.GpuException;
import io.gpupool.soft.device.SoftGpu;
import io.gpupool.soft.device.context.SoftContext;
import io.gpupool.soft.device.spec.ArrayShape;
import io.gpupool.soft.texture.Sampler;
import io.gpupool.soft.texture.Surface;
import io.gpupool.soft.texture.Texture;
import io.gpupool.soft.texture.TextureTable;
import org.jspecify.annotations.Nullable;

/** The texture and surface objects of a context. Any thread may call it. */
public final class TextureObjects {
  private final SoftContext context;

  public TextureObjects(SoftContext context) {
    this.context = context;
  }

  /**
   * Makes a texture object.
   *
   * @return its value in kernels
   * @throws GpuException INVALID_VALUE if there is no such texture; NOT_SUPPORTED
   */
  public long createTexture(
      TextureResource resource, Sampler sampler, TextureResource.@Nullable View view) {
    context.requireUsable();
    return add(new TextureMaker(context).make(resource, sampler, view));
  }

  private long add(Object object) {
    SoftGpu gpu = context.device().gpu();
    return gpu.placements()
        .make(
            value -> gpu.textures().addAt(value, object, context),
            () -> gpu.textures().add(object, context));
  }

  /** Ends a texture object once all work submitted to this context is done. */
  public void destroyTexture(long texture) {
    destroyWhenDone(texture, Texture.class);
  }

  private void destroyWhenDone(long value, Class<?> type) {
    TextureTable textures = context.device().gpu().textures();
    Object object = textures.require(value, type);
    context.completion().whenDone(() -> textures.remove(value, object));
  }

  /**
   * Makes a surface object.
   *
   * @return its value in kernels
   * @throws GpuException INVALID_VALUE if the array was not made for surfaces
   */
  public long createSurface(SoftArray array) {
    context.requireUsable();
    return add(surfaceOf(array));
  }

  static Surface surfaceOf(SoftArray array) {
    if ((array.shape().flags() & ArrayShape.SURFACE) == 0) {
      throw new GpuException(
          CudaStatus.INVALID_VALUE, "the array was made without CUDA_ARRAY3D_SURFACE_LDST");
    }
    return new Surface(array.texels());
  }

  /** Ends a surface object once all work submitted to this context is done. */
  public void destroySurface(long surface) {
    destroyWhenDone(surface, Surface.class);
  }
}
