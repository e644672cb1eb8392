// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker.soft;

import io.gpupool.cuda.TextureCalls;
import io.gpupool.soft.CudaStatus;
import io.gpupool.soft.GpuException;
import io.gpupool.soft.device.SoftArray;
import io.gpupool.soft.device.TextureResource;
import io.gpupool.soft.texture.AddressMode;
import io.gpupool.soft.texture.Sampler;
import io.gpupool.soft.texture.TexelFormat;
import io.gpupool.worker.os.Memory;
import java.util.List;
import java.util.Optional;

/** Driver calls that make texture and surface objects. */
final class SoftTextureCalls extends SoftCalls implements TextureCalls {
  /** CUresourcetype. */
  private static final int RESOURCE_ARRAY = 0;

  private static final int RESOURCE_MIPMAPPED_ARRAY = 1;
  private static final int RESOURCE_LINEAR = 2;
  private static final int RESOURCE_PITCH2D = 3;

  /** Where in a CUDA_RESOURCE_DESC its flags are, which must be 0. */
  private static final int RESOURCE_FLAGS_OFFSET = 136;

  /** CU_TRSF_... */
  static final int READ_AS_INTEGER = 0x01;

  static final int NORMALIZED_COORDINATES = 0x02;
  static final int SRGB = 0x10;
  static final int SEAMLESS_CUBEMAP = 0x40;

  SoftTextureCalls(SoftState state) {
    super(state);
  }

  @Override
  public int cuTexObjectCreate(long object, long resource, long texture, long view) {
    return call(() -> {
      Optional<TextureResource.View> part = view == 0 ? Optional.empty() : Optional.of(view(view));
      long value = context().textures().createTexture(resource(resource), sampler(texture), part);
      Memory.putLong(object, value);
    });
  }

  @Override
  public int cuTexObjectDestroy(long object) {
    return call(() -> context().textures().destroyTexture(object));
  }

  @Override
  public int cuSurfObjectCreate(long object, long resource) {
    return call(() -> {
      if (resource(resource) instanceof TextureResource.Arrays(List<SoftArray> levels)
          && Memory.getInt(resource) == RESOURCE_ARRAY) {
        Memory.putLong(object, context().textures().createSurface(levels.getFirst()));
      } else {
        throw new GpuException(CudaStatus.INVALID_VALUE, "a surface is made of an array");
      }
    });
  }

  @Override
  public int cuSurfObjectDestroy(long object) {
    return call(() -> context().textures().destroySurface(object));
  }

  private TextureResource resource(long resource) {
    long handle = Memory.getLong(resource + 8);
    if (Memory.getInt(resource + RESOURCE_FLAGS_OFFSET) != 0) {
      throw new GpuException(CudaStatus.INVALID_VALUE, "a resource has no flags");
    }
    return switch (Memory.getInt(resource)) {
      case RESOURCE_ARRAY ->
          new TextureResource.Arrays(List.of(state().handles().get(handle, SoftArray.class)));
      case RESOURCE_MIPMAPPED_ARRAY ->
          new TextureResource.Arrays(state().handles().get(handle, LoadedMipmap.class).levels());
      case RESOURCE_LINEAR ->
          new TextureResource.Linear(handle, format(resource), Memory.getLong(resource + 24));
      case RESOURCE_PITCH2D ->
          new TextureResource.Pitched(
              handle,
              format(resource),
              Memory.getLong(resource + 24),
              Memory.getLong(resource + 32),
              Memory.getLong(resource + 40));
      default -> throw new GpuException(CudaStatus.INVALID_VALUE, "an unknown type of resource");
    };
  }

  private static TexelFormat format(long resource) {
    return TexelFormat.of(Memory.getInt(resource + 16), Memory.getInt(resource + 20));
  }

  private static TextureResource.View view(long view) {
    return new TextureResource.View(
        Memory.getInt(view),
        Memory.getInt(view + 32),
        Memory.getInt(view + 36),
        Memory.getInt(view + 40),
        Memory.getInt(view + 44));
  }

  private static Sampler sampler(long texture) {
    int flags = Memory.getInt(texture + 16);
    return new Sampler(
        List.of(
            mode(Memory.getInt(texture)),
            mode(Memory.getInt(texture + 4)),
            mode(Memory.getInt(texture + 8))),
        isLinear(Memory.getInt(texture + 12)),
        (flags & READ_AS_INTEGER) != 0,
        (flags & NORMALIZED_COORDINATES) != 0,
        (flags & SRGB) != 0,
        (flags & SEAMLESS_CUBEMAP) != 0,
        isLinear(Memory.getInt(texture + 24)),
        real(texture + 28),
        real(texture + 32),
        real(texture + 36),
        List.of(real(texture + 40), real(texture + 44), real(texture + 48), real(texture + 52)));
  }

  /** A CUaddress_mode. */
  static AddressMode mode(int mode) {
    if (mode < 0 || mode >= AddressMode.values().length) {
      throw new GpuException(CudaStatus.INVALID_VALUE, "there is no address mode " + mode);
    }
    return AddressMode.values()[mode];
  }

  /** Of a CUfilter_mode. */
  static boolean isLinear(int mode) {
    if (mode != 0 && mode != 1) {
      throw new GpuException(CudaStatus.INVALID_VALUE, "there is no filter mode " + mode);
    }
    return mode == 1;
  }

  static float real(long at) {
    return Float.intBitsToFloat(Memory.getInt(at));
  }
}
