// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker.soft.state;

import io.gpupool.soft.device.context.PrimaryContext;
import io.gpupool.soft.device.context.SoftContext;

/** A context as a handle names it. */
public sealed interface ContextHandle {
  /** Returns the context of the handle at this moment. */
  SoftContext context();

  /** A context that the program created. */
  record Created(SoftContext context) implements ContextHandle {}

  /** The primary context of a device, which a reset replaces. */
  record Primary(PrimaryContext owner) implements ContextHandle {
    @Override
    public SoftContext context() {
      return owner.require();
    }
  }

  /** A green context: its device's primary context, with multiprocessors of its own in name. */
  record Green(PrimaryContext owner, SmResource resource) implements ContextHandle {
    @Override
    public SoftContext context() {
      return owner.require();
    }
  }
}
