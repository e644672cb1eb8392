// SPDX-License-Identifier: Apache-2.0
package io.gpupool.soft.device;

import io.gpupool.soft.GpuException;
import io.gpupool.soft.texture.ReferenceTable;
import io.gpupool.soft.texture.Sampler;
import java.util.Optional;
import java.util.function.Supplier;

/**
 * The bindings of the texture and surface references of a context's modules. A change applies to
 * later launches. Any thread may call it.
 */
public final class SoftReferences {
  private final SoftContext context;
  private volatile ReferenceTable table = ReferenceTable.EMPTY;

  SoftReferences(SoftContext context) {
    this.context = context;
  }

  ReferenceTable table() {
    return table;
  }

  /**
   * Binds a texture reference. Properties are set one by one, and need not fit together before a
   * kernel reads: what does not, is told by that kernel's fault.
   *
   * @param symbol the address of the reference's symbol
   */
  public synchronized void bind(
      long symbol, Supplier<TextureResource> resource, Supplier<Sampler> sampler) {
    Object bound;
    try {
      bound = new TextureMaker(context).make(resource.get(), sampler.get(), Optional.empty());
    } catch (GpuException e) {
      bound = new ReferenceTable.Unusable(String.valueOf(e.getMessage()));
    }
    table = table.with(symbol, bound);
  }

  /**
   * Binds a surface reference.
   *
   * @throws GpuException INVALID_VALUE if the array was not made for surfaces
   */
  public synchronized void bind(long symbol, SoftArray array) {
    table = table.with(symbol, TextureObjects.surfaceOf(array));
  }

  /** A reference is bound to nothing, or there no more. */
  public synchronized void unbind(long symbol) {
    table = table.without(symbol);
  }
}
