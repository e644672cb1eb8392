// SPDX-License-Identifier: Apache-2.0
package io.gpupool.soft.device.array;

import io.gpupool.soft.GpuException;
import io.gpupool.soft.device.context.SoftContext;
import io.gpupool.soft.texture.ReferenceTable;
import io.gpupool.soft.texture.Sampler;
import java.util.function.Supplier;

/**
 * Bindings of the texture and surface references of a context's modules. A change applies to later
 * launches. Any thread may call it.
 */
public final class SoftReferences {
  private final SoftContext context;

  public SoftReferences(SoftContext context) {
    this.context = context;
  }

  /**
   * Binds a texture reference. Properties are set one by one, and need not fit together before a
   * kernel reads; that kernel's fault tells of what does not.
   *
   * @param symbol the address of the reference's symbol
   */
  public void bind(long symbol, Supplier<TextureResource> resource, Supplier<Sampler> sampler) {
    context.references().bind(symbol, () -> texture(resource, sampler));
  }

  private Object texture(Supplier<TextureResource> resource, Supplier<Sampler> sampler) {
    try {
      return new TextureMaker(context).make(resource.get(), sampler.get(), null);
    } catch (GpuException e) {
      return new ReferenceTable.Unusable(String.valueOf(e.getMessage()));
    }
  }

  /**
   * Binds a surface reference.
   *
   * @throws GpuException INVALID_VALUE if the array was not made for surfaces
   */
  public void bind(long symbol, SoftArray array) {
    context.references().bind(symbol, () -> TextureObjects.surfaceOf(array));
  }

  /** Unbinds a reference. */
  public void unbind(long symbol) {
    context.references().unbind(symbol);
  }
}
