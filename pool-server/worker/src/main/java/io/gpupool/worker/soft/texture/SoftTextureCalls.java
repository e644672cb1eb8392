// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker.soft.texture;

import io.gpupool.cuda.LinearMemoryLayout;
import io.gpupool.cuda.PitchedMemoryLayout;
import io.gpupool.cuda.ResourceLayout;
import io.gpupool.cuda.ResourceType;
import io.gpupool.cuda.TextureCalls;
import io.gpupool.cuda.TextureLayout;
import io.gpupool.soft.CudaStatus;
import io.gpupool.soft.GpuException;
import io.gpupool.soft.device.array.SoftArray;
import io.gpupool.soft.device.array.TextureObjects;
import io.gpupool.soft.device.array.TextureResource;
import io.gpupool.soft.texture.AddressMode;
import io.gpupool.soft.texture.MipmapFilter;
import io.gpupool.soft.texture.Sampler;
import io.gpupool.soft.texture.TexelFormat;
import io.gpupool.worker.os.Memory;
import io.gpupool.worker.soft.state.SoftCalls;
import io.gpupool.worker.soft.state.SoftState;
import java.util.List;

/** Driver calls that make texture and surface objects. */
public final class SoftTextureCalls extends SoftCalls implements TextureCalls {
  /** CU_TRSF_... */
  public static final int READ_AS_INTEGER = 0x01;

  public static final int NORMALIZED_COORDINATES = 0x02;
  public static final int SRGB = 0x10;
  public static final int SEAMLESS_CUBEMAP = 0x40;

  public SoftTextureCalls(SoftState state) {
    super(state);
  }

  @Override
  public int cuTexObjectCreate(long object, long resource, long texture, long view) {
    return call(() -> {
      TextureResource.View part = view == 0 ? null : view(view);
      long value =
          new TextureObjects(context()).createTexture(resource(resource), sampler(texture), part);
      Memory.putLong(object, value);
    });
  }

  @Override
  public int cuTexObjectDestroy(long object) {
    return call(() -> new TextureObjects(context()).destroyTexture(object));
  }

  @Override
  public int cuSurfObjectCreate(long object, long resource) {
    return call(() -> {
      if (resource(resource) instanceof TextureResource.Arrays(List<SoftArray> levels)
          && Memory.getInt(resource + ResourceLayout.RES_TYPE) == ResourceType.ARRAY) {
        Memory.putLong(object, new TextureObjects(context()).createSurface(levels.getFirst()));
      } else {
        throw new GpuException(CudaStatus.INVALID_VALUE, "a surface is made of an array");
      }
    });
  }

  @Override
  public int cuSurfObjectDestroy(long object) {
    return call(() -> new TextureObjects(context()).destroySurface(object));
  }

  private TextureResource resource(long resource) {
    long at = resource + ResourceLayout.RES;
    long handle = Memory.getLong(at);
    if (Memory.getInt(resource + ResourceLayout.FLAGS) != 0) {
      throw new GpuException(CudaStatus.INVALID_VALUE, "a resource has no flags");
    }
    return switch (Memory.getInt(resource + ResourceLayout.RES_TYPE)) {
      case ResourceType.ARRAY ->
          new TextureResource.Arrays(List.of(state().handles().get(handle, SoftArray.class)));
      case ResourceType.MIPMAPPED_ARRAY ->
          new TextureResource.Arrays(state().handles().get(handle, LoadedMipmap.class).levels());
      case ResourceType.LINEAR ->
          new TextureResource.Linear(
              handle, format(at), Memory.getLong(at + LinearMemoryLayout.SIZE_IN_BYTES));
      case ResourceType.PITCH2D ->
          new TextureResource.Pitched(
              handle,
              format(at),
              Memory.getLong(at + PitchedMemoryLayout.WIDTH),
              Memory.getLong(at + PitchedMemoryLayout.HEIGHT),
              Memory.getLong(at + PitchedMemoryLayout.PITCH_IN_BYTES));
      default -> throw new GpuException(CudaStatus.INVALID_VALUE, "an unknown type of resource");
    };
  }

  /** Returns the format of linear or pitched memory, whose descriptions begin alike. */
  private static TexelFormat format(long memory) {
    return TexelFormat.of(
        Memory.getInt(memory + LinearMemoryLayout.FORMAT),
        Memory.getInt(memory + LinearMemoryLayout.CHANNELS));
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
    int flags = Memory.getInt(texture + TextureLayout.FLAGS);
    long modes = texture + TextureLayout.ADDRESS_MODE;
    long border = texture + TextureLayout.BORDER_COLOR;
    return new Sampler(
        List.of(
            mode(Memory.getInt(modes)),
            mode(Memory.getInt(modes + 4)),
            mode(Memory.getInt(modes + 8))),
        isLinear(Memory.getInt(texture + TextureLayout.FILTER_MODE)),
        (flags & READ_AS_INTEGER) != 0,
        (flags & NORMALIZED_COORDINATES) != 0,
        (flags & SRGB) != 0,
        (flags & SEAMLESS_CUBEMAP) != 0,
        mipmapFilter(texture),
        List.of(real(border), real(border + 4), real(border + 8), real(border + 12)));
  }

  private static MipmapFilter mipmapFilter(long texture) {
    return new MipmapFilter(
        isLinear(Memory.getInt(texture + TextureLayout.MIPMAP_FILTER_MODE)),
        real(texture + TextureLayout.MIPMAP_LEVEL_BIAS),
        real(texture + TextureLayout.MIN_MIPMAP_LEVEL_CLAMP),
        real(texture + TextureLayout.MAX_MIPMAP_LEVEL_CLAMP));
  }

  /** Returns a CUaddress_mode. */
  public static AddressMode mode(int mode) {
    if (mode < 0 || mode >= AddressMode.values().length) {
      throw new GpuException(CudaStatus.INVALID_VALUE, "there is no address mode " + mode);
    }
    return AddressMode.values()[mode];
  }

  /** Returns whether a CUfilter_mode is linear. */
  public static boolean isLinear(int mode) {
    if (mode != 0 && mode != 1) {
      throw new GpuException(CudaStatus.INVALID_VALUE, "there is no filter mode " + mode);
    }
    return mode == 1;
  }

  public static float real(long at) {
    return Float.intBitsToFloat(Memory.getInt(at));
  }
}
