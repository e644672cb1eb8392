// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker.soft.module;

import io.gpupool.cuda.ReferenceCalls;
import io.gpupool.soft.device.array.SoftArray;
import io.gpupool.soft.device.array.TextureResource;
import io.gpupool.soft.ptx.VariableKind;
import io.gpupool.soft.texture.TexelFormat;
import io.gpupool.worker.os.Memory;
import io.gpupool.worker.soft.state.SoftCalls;
import io.gpupool.worker.soft.state.SoftState;
import io.gpupool.worker.soft.texture.LoadedMipmap;
import io.gpupool.worker.soft.texture.SoftTextureCalls;
import java.util.List;
import java.util.function.Consumer;

/** Driver calls about texture and surface references of modules. */
public final class SoftReferenceCalls extends SoftCalls implements ReferenceCalls {
  public SoftReferenceCalls(SoftState state) {
    super(state);
  }

  @Override
  public int cuModuleGetTexRef(long reference, long module, long name) {
    return find(reference, module, name, VariableKind.TEXTURE);
  }

  @Override
  public int cuModuleGetSurfRef(long reference, long module, long name) {
    return find(reference, module, name, VariableKind.SURFACE);
  }

  private int find(long reference, long module, long name, VariableKind kind) {
    return call(() -> {
      LoadedModule loaded = state().handles().get(module, LoadedModule.class);
      String text = Memory.text(name, SoftModuleCalls.MAX_NAME_BYTES);
      Memory.putLong(reference, loaded.reference(text, kind));
    });
  }

  @Override
  public int cuSurfRefSetArray(long reference, long array, int flags) {
    return call(() -> {
      SoftArray found = state().handles().get(array, SoftArray.class);
      reference(reference)
          .bind(VariableKind.SURFACE, (references, symbol) -> references.bind(symbol, found));
    });
  }

  @Override
  public int cuTexRefSetArray(long reference, long array, int flags) {
    return call(() -> {
      SoftArray found = state().handles().get(array, SoftArray.class);
      setResource(reference, new TextureResource.Arrays(List.of(found)));
    });
  }

  @Override
  public int cuTexRefSetMipmappedArray(long reference, long mipmap, int flags) {
    return call(() -> {
      LoadedMipmap found = state().handles().get(mipmap, LoadedMipmap.class);
      setResource(reference, new TextureResource.Arrays(found.levels()));
    });
  }

  private void setResource(long reference, TextureResource resource) {
    reference(reference).set(all -> all.resource = () -> resource);
  }

  /** Address 0: nothing. */
  @Override
  public int cuTexRefSetAddress_v2(long offset, long reference, long address, long lengthBytes) {
    return set(
        reference,
        all -> {
          if (offset != 0) {
            Memory.putLong(offset, 0);
          }
          all.resource =
              address == 0
                  ? null
                  : () -> new TextureResource.Linear(address, all.texelFormat(), lengthBytes);
        });
  }

  @Override
  public int cuTexRefSetAddress2D_v3(
      long reference, long descriptor, long address, long pitchBytes) {
    long width = Memory.getLong(descriptor);
    long height = Memory.getLong(descriptor + 8);
    int format = Memory.getInt(descriptor + 16);
    int channels = Memory.getInt(descriptor + 20);
    return set(
        reference,
        all ->
            all.resource =
                () ->
                    new TextureResource.Pitched(
                        address, TexelFormat.of(format, channels), width, height, pitchBytes));
  }

  @Override
  public int cuTexRefSetFormat(long reference, int format, int channels) {
    return set(
        reference,
        all -> {
          all.format = format;
          all.channels = channels;
        });
  }

  @Override
  public int cuTexRefSetAddressMode(long reference, int dimension, int mode) {
    return set(reference, all -> all.modes[dimension] = SoftTextureCalls.mode(mode));
  }

  @Override
  public int cuTexRefSetFilterMode(long reference, int mode) {
    return set(reference, all -> all.linear = SoftTextureCalls.isLinear(mode));
  }

  @Override
  public int cuTexRefSetMipmapFilterMode(long reference, int mode) {
    return set(reference, all -> all.linearLevels = SoftTextureCalls.isLinear(mode));
  }

  @Override
  public int cuTexRefSetMipmapLevelBias(long reference, float bias) {
    return set(reference, all -> all.levelBias = bias);
  }

  @Override
  public int cuTexRefSetMipmapLevelClamp(long reference, float least, float most) {
    return set(
        reference,
        all -> {
          all.minLevel = least;
          all.maxLevel = most;
        });
  }

  /** Filtering is the same in all directions. */
  @Override
  public int cuTexRefSetMaxAnisotropy(long reference, int most) {
    return set(reference, all -> {});
  }

  @Override
  public int cuTexRefSetBorderColor(long reference, long color) {
    return set(
        reference,
        all ->
            all.border =
                List.of(
                    SoftTextureCalls.real(color),
                    SoftTextureCalls.real(color + 4),
                    SoftTextureCalls.real(color + 8),
                    SoftTextureCalls.real(color + 12)));
  }

  @Override
  public int cuTexRefSetFlags(long reference, int flags) {
    return set(reference, all -> all.flags = flags);
  }

  private int set(long reference, Consumer<LoadedReference.State> change) {
    return call(() -> reference(reference).set(change));
  }

  private LoadedReference reference(long handle) {
    return state().handles().get(handle, LoadedReference.class);
  }
}
