// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker.soft;

import io.gpupool.soft.device.SoftContext;
import io.gpupool.soft.device.SoftDevice;

/** A context as a handle names it. */
sealed interface ContextHandle {
  /** The context of the handle at this moment. */
  SoftContext context();

  /** A context that the program created. */
  record Created(SoftContext context) implements ContextHandle {}

  /** The primary context of a device, which a reset replaces. */
  record Primary(SoftDevice device) implements ContextHandle {
    @Override
    public SoftContext context() {
      return device.primary();
    }
  }

  /** A green context: its device's primary context, with multiprocessors of its own in name. */
  record Green(SoftDevice device, SmResource resource) implements ContextHandle {
    @Override
    public SoftContext context() {
      return device.primary();
    }
  }
}
