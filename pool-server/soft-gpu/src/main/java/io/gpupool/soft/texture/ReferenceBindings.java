// SPDX-License-Identifier: Apache-2.0
package io.gpupool.soft.texture;

import java.util.function.Supplier;

/** Bindings of the texture and surface references of a context. Any thread may call it. */
public final class ReferenceBindings {
  private volatile ReferenceTable table = ReferenceTable.EMPTY;

  /** Returns the bindings as they are now. */
  public ReferenceTable table() {
    return table;
  }

  /** Binds a reference to what the supplier makes while no other binding changes. */
  public synchronized void bind(long symbol, Supplier<Object> bound) {
    table = table.with(symbol, bound.get());
  }

  /** Unbinds a reference; later launches find nothing there. */
  public synchronized void unbind(long symbol) {
    table = table.without(symbol);
  }
}
