// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker.collective;

import io.gpupool.worker.os.Memory;
import java.util.concurrent.Executor;

/**
 * The GPU of a rank. Its work runs on the calling thread, in pieces, between which others may have
 * it.
 */
final class RankGpu {
  private static final long PIECE_BYTES = 4 << 20;

  private final Executor executor;

  RankGpu(Executor executor) {
    this.executor = executor;
  }

  /** Does a piece of work. */
  void run(Runnable work) {
    executor.execute(work);
  }

  void copy(long source, long target, long lengthBytes) {
    for (long done = 0; done < lengthBytes; done += PIECE_BYTES) {
      long from = source + done;
      long to = target + done;
      long piece = Math.min(PIECE_BYTES, lengthBytes - done);
      run(() -> Memory.copy(from, to, piece));
    }
  }
}
