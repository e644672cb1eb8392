// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.autoscaling;

/**
 * A server as a scaler sees it.
 *
 * @param idleMillis since the last lease on its GPUs ended; 0: it has some
 * @param open whether it grants leases
 */
public record ServerLoad(String name, int gpus, long idleMillis, boolean open) {
  /** Whether it must not be removed. */
  public boolean leased() {
    return idleMillis == 0;
  }
}
