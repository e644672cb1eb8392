// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.lease.move;

import io.gpupool.server.gpu.Gpu;
import io.gpupool.server.identity.HolderName;
import org.jspecify.annotations.Nullable;

/**
 * The place to which a lease is to move, as people name it.
 *
 * @param server by its name
 * @param ordinal of the GPU there; null: whichever fits best
 */
public record Destination(String server, @Nullable Integer ordinal) {
  boolean accepts(Gpu gpu) {
    return gpu.server().equals(server) && (ordinal == null || ordinal == gpu.ordinal());
  }

  @Override
  public String toString() {
    return HolderName.plain(server) + (ordinal == null ? "" : "/" + ordinal);
  }
}
