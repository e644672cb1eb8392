// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker.session.quota;

import io.gpupool.cuda.Backend;
import io.gpupool.cuda.CudaResult;
import io.gpupool.worker.os.Memory;
import io.gpupool.worker.session.core.ContextState;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.BitSet;

/**
 * Room for what a driver takes of a card when it first launches a function: its code, and local
 * memory for all threads that the GPU runs at a time. Used by the session's thread alone.
 */
public final class FirstLaunches {
  private static final int FUNCTION_LOCAL_BYTES = 3;
  private static final int MULTIPROCESSORS = 16;
  private static final int THREADS_A_MULTIPROCESSOR = 39;
  private static final int LIMIT_STACK_SIZE = 0;

  private final Backend backend;
  private final MemoryQuota quota;

  /** Client's numbers of functions; all of them where there is nothing to see to. */
  private final BitSet launched = new BitSet();

  private final boolean isNeeded;
  private final MemorySegment answer = Arena.ofAuto().allocate(Long.BYTES, Long.BYTES);
  private final long out = answer.address();

  public FirstLaunches(Backend backend, MemoryQuota quota) {
    this.backend = backend;
    this.quota = quota;
    isNeeded = backend.isSharedCard();
  }

  /** Returns whether {@link #admit} has to be asked. */
  public boolean isFirst(int function) {
    return isNeeded && !launched.get(function);
  }

  /** Sees to room for a function in a context; CUDA_ERROR_OUT_OF_MEMORY if there is none. */
  public int admit(ContextState context, int function, long handle) {
    if (!context.exists()) {
      return CudaResult.INVALID_CONTEXT;
    }
    ContextState home = context.home;
    long local = attribute(backend.cuFuncGetAttribute(out, FUNCTION_LOCAL_BYTES, handle));
    long had = Math.max(home.localBytes(), stackLimitBytes());
    if (local > had) {
      long threads =
          attribute(backend.cuDeviceGetAttribute(out, MULTIPROCESSORS, home.device))
              * attribute(backend.cuDeviceGetAttribute(out, THREADS_A_MULTIPROCESSOR, home.device));
      if (!quota.reserveLocalMemory(home.gpu, (local - had) * threads)) {
        return CudaResult.OUT_OF_MEMORY;
      }
      home.setLocalBytes(local);
    }
    launched.set(function);
    return CudaResult.SUCCESS;
  }

  /** Functions were launched or prepared, or could not be. */
  public void measure(ContextState context) {
    if (isNeeded && context.exists()) {
      boolean ignored = quota.measure(context.gpu);
    }
  }

  /** Numbers of functions may be others' from now on. */
  public void forget() {
    launched.clear();
  }

  private long stackLimitBytes() {
    return backend.cuCtxGetLimit(out, LIMIT_STACK_SIZE) == 0 ? Memory.getLong(out) : 0;
  }

  private long attribute(int result) {
    return result == 0 ? Memory.getInt(out) : 0;
  }
}
