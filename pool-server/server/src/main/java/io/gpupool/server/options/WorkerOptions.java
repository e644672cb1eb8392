// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.options;

import io.gpupool.server.worker.WorkerCommand;

/**
 * The worker processes of a pool server.
 *
 * @param command the command that starts a worker
 * @param spares the number of workers that are warmed up at the start
 * @param refill whether spare workers that were taken are replaced
 */
public record WorkerOptions(WorkerCommand command, int spares, boolean refill) {
  private static final int MAX_SPARES = 64;

  public WorkerOptions {
    if (spares < 0 || spares > MAX_SPARES) {
      throw new IllegalArgumentException("--spares " + spares + ": give 0 to " + MAX_SPARES);
    }
  }
}
