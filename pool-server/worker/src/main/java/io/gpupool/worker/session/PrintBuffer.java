// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker.session;

import io.gpupool.cuda.Backend;
import io.gpupool.worker.os.Memory;
import java.lang.foreign.Arena;

/**
 * The buffer in which a driver keeps what kernels of one context print. The driver empties it when
 * it is asked to wait for a stream, and not when it is asked whether an event is reached.
 */
final class PrintBuffer {
  private static final int NON_BLOCKING = 1;

  private final Backend backend;

  /** Of the session's own, with nothing in it ever; 0: kernels of the context cannot print yet. */
  private volatile long idleStream;

  PrintBuffer(Backend backend) {
    this.backend = backend;
  }

  /** There are kernels now. Their context is current. */
  void open() {
    if (idleStream == 0) {
      try (Arena arena = Arena.ofConfined()) {
        long out = arena.allocate(8, 8).address();
        if (backend.cuStreamCreateWithPriority(out, NON_BLOCKING, 0) == 0) {
          idleStream = Memory.getLong(out);
        }
      }
    }
  }

  /** Has the driver print what is in it. Any thread may call this, and waits for no kernel. */
  void flush() {
    long stream = idleStream;
    if (stream != 0) {
      backend.cuStreamSynchronize(stream);
    }
  }
}
