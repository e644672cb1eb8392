// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker.session.core;

import com.google.errorprone.annotations.concurrent.GuardedBy;
import io.gpupool.cuda.Backend;
import io.gpupool.worker.os.Memory;
import java.lang.foreign.Arena;

/**
 * The buffer in which a driver keeps what kernels of one context print. The driver empties it when
 * it is asked to wait for a stream, and not when it is asked whether an event is reached.
 */
public final class PrintBuffer {
  private static final int NON_BLOCKING = 1;

  private final Backend backend;
  private final long context;

  /** Of the session's own, with nothing in it ever; 0: kernels of the context cannot print. */
  @GuardedBy("this")
  private long idleStream;

  PrintBuffer(Backend backend, long context) {
    this.backend = backend;
    this.context = context;
  }

  /** There are kernels now, of this context or of a green one that is part of it and current. */
  public synchronized void open(long current) {
    if (idleStream != 0) {
      return;
    }
    backend.cuCtxSetCurrent(context);
    try (Arena arena = Arena.ofConfined()) {
      long out = arena.allocate(8, 8).address();
      if (backend.cuStreamCreateWithPriority(out, NON_BLOCKING, 0) == 0) {
        idleStream = Memory.getLong(out);
      }
    }
    backend.cuCtxSetCurrent(current);
  }

  /** Has the driver print what is in it. Any thread may call this, and waits for no kernel. */
  public synchronized void flush() {
    if (idleStream != 0) {
      backend.cuStreamSynchronize(idleStream);
    }
  }

  /** The context goes down, and the stream with it. */
  public synchronized void close() {
    idleStream = 0;
  }
}
