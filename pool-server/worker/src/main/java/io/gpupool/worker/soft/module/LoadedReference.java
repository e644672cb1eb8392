// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker.soft.module;

import io.gpupool.soft.CudaStatus;
import io.gpupool.soft.GpuException;
import io.gpupool.soft.device.array.SoftReferences;
import io.gpupool.soft.device.array.TextureResource;
import io.gpupool.soft.device.context.SoftContext;
import io.gpupool.soft.ptx.VariableKind;
import io.gpupool.soft.texture.AddressMode;
import io.gpupool.soft.texture.MipmapFilter;
import io.gpupool.soft.texture.Sampler;
import io.gpupool.soft.texture.TexelFormat;
import io.gpupool.worker.soft.texture.SoftTextureCalls;
import java.util.Arrays;
import java.util.List;
import java.util.function.Consumer;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/** A texture or surface reference of a module, and what was set of it. Any thread may use it. */
final class LoadedReference {
  private final SoftContext context;
  private final long symbol;
  private final VariableKind kind;
  private final State state = new State();

  /** What is set one by one; as CUDA_TEXTURE_DESC and the reference's format. */
  static final class State {
    int format;
    int channels;
    final AddressMode[] modes = new AddressMode[3];
    boolean linear;
    int flags;
    boolean linearLevels;
    float levelBias;
    float minLevel;
    float maxLevel;
    List<Float> border = List.of(0f, 0f, 0f, 0f);

    /** Makes the resource, of the format at that time; null: nothing is bound. */
    @Nullable Supplier<TextureResource> resource;

    TexelFormat texelFormat() {
      return TexelFormat.of(format, channels);
    }

    private Sampler sampler() {
      return new Sampler(
          List.of(modes),
          linear,
          (flags & SoftTextureCalls.READ_AS_INTEGER) != 0,
          (flags & SoftTextureCalls.NORMALIZED_COORDINATES) != 0,
          (flags & SoftTextureCalls.SRGB) != 0,
          (flags & SoftTextureCalls.SEAMLESS_CUBEMAP) != 0,
          new MipmapFilter(linearLevels, levelBias, minLevel, maxLevel),
          border);
    }
  }

  LoadedReference(SoftContext context, long symbol, VariableKind kind) {
    this.context = context;
    this.symbol = symbol;
    this.kind = kind;
    Arrays.fill(state.modes, AddressMode.WRAP);
  }

  /** The references of its context, and the symbol in them. */
  interface Binding {
    void bind(SoftReferences references, long symbol);
  }

  /** Changes what it is bound to; INVALID_HANDLE if it is not of that kind. */
  synchronized void bind(VariableKind wanted, Binding binding) {
    if (kind != wanted) {
      throw new GpuException(CudaStatus.INVALID_HANDLE, "it is a " + kind + " reference");
    }
    context.requireUsable();
    binding.bind(new SoftReferences(context), symbol);
  }

  /** Changes how a texture reference reads, or what. */
  void set(Consumer<State> change) {
    bind(
        VariableKind.TEXTURE,
        (references, at) -> {
          change.accept(state);
          if (state.resource == null) {
            references.unbind(at);
          } else {
            references.bind(at, state.resource, state::sampler);
          }
        });
  }
}
