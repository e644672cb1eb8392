// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker.soft.state;

import io.gpupool.soft.CudaStatus;
import io.gpupool.soft.GpuException;
import io.gpupool.soft.device.SoftDevice;
import io.gpupool.soft.device.context.PrimaryContext;
import io.gpupool.soft.device.context.SoftContext;
import io.gpupool.soft.device.context.SoftStream;
import java.util.function.Supplier;

/** A group of the software GPU's driver calls. */
public abstract class SoftCalls {
  private final SoftState state;

  protected SoftCalls(SoftState state) {
    this.state = state;
  }

  /** The session's state. */
  protected final SoftState state() {
    return state;
  }

  /** Does one call, and makes a result code of its failure. */
  protected final int call(Body body) {
    try {
      body.run();
      return CudaStatus.SUCCESS.code();
    } catch (OutOfMemoryError | StackOverflowError | RuntimeException e) {
      return failed(e);
    }
  }

  /** Asks one thing of the device; the answer may be a status that is no failure. */
  protected final int query(Supplier<CudaStatus> body) {
    try {
      return body.get().code();
    } catch (OutOfMemoryError | StackOverflowError | RuntimeException e) {
      return failed(e);
    }
  }

  private int failed(Throwable failure) {
    return state.failed(
        switch (failure) {
          case GpuException known -> known;
          case OutOfMemoryError e ->
              new GpuException(CudaStatus.OUT_OF_MEMORY, "no host memory: " + e);
          // What a program sends may find a defect of ours; the session outlives it.
          default -> new GpuException(CudaStatus.UNKNOWN, "internal error: " + failure);
        });
  }

  /** The device of a number; INVALID_DEVICE if there is none. */
  protected final SoftDevice device(int ordinal) {
    return state().gpu().device(ordinal);
  }

  /** Returns the primary context of a device. */
  protected final PrimaryContext primary(int ordinal) {
    return state().primary(device(ordinal));
  }

  /** The calling thread's context; INVALID_CONTEXT if it has none, or the context's fault. */
  protected final SoftContext context() {
    SoftContext context = state().currentContext();
    context.requireUsable();
    return context;
  }

  /** The stream of a handle, 0 and 1 being the current context's default stream. */
  protected final SoftStream stream(long handle) {
    return handle == 0 || handle == 1
        ? context().legacyStream()
        : state().handles().get(handle, SoftStream.class);
  }

  /** One driver call. */
  @FunctionalInterface
  protected interface Body {
    void run();
  }
}
