// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker.session.copy;

import io.gpupool.worker.session.core.ContextState;
import io.gpupool.worker.session.core.Staging;
import io.gpupool.worker.session.stream.HostCallbacks;
import java.util.function.BooleanSupplier;

/** The staging blocks that copies wait for in turn. Used by the session's thread alone. */
public final class StagingBlocks {
  private final HostCallbacks callbacks;

  public StagingBlocks(HostCallbacks callbacks) {
    this.callbacks = callbacks;
  }

  /**
   * Takes a block of at least {@code lengthBytes}; 0 if there is none, and none to wait for.
   *
   * @param hasRoom whether the copies under way leave room for another
   * @param awaitCopy waits for a copy under way; false if there is none
   */
  long take(
      ContextState context, int lengthBytes, BooleanSupplier hasRoom, BooleanSupplier awaitCopy) {
    while (true) {
      boolean hostFunction = callbacks.anyOutstanding();
      if (hostFunction || hasRoom.getAsBoolean()) {
        // Waiting for a host function could last forever: the frame that ends it is yet to come.
        long overdraft = hostFunction ? Staging.MAX_BYTES : 0;
        long block = context.staging.take(lengthBytes, overdraft);
        if (block != 0 || hostFunction) {
          return block;
        }
      }
      if (!awaitCopy.getAsBoolean()) {
        return 0;
      }
    }
  }
}
