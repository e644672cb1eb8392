// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker.session;

import io.gpupool.cuda.Backend;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * A context of the client: its backend handle, the error it has to report, and what the session
 * keeps in it for itself. The session's thread owns it; waiting threads use the pools and may set
 * the error.
 */
final class ContextState {
  /** The client's number. */
  final int number;

  /** The client's number of the GPU. */
  final int gpu;

  /** The backend's CUdevice. */
  final int device;

  /** The backend's handle; 0: no context. */
  final long handle;

  final boolean primary;
  final EventPool events;
  final Staging staging;

  /** Waiting threads that may be inside a call on an event of this context. */
  final AtomicInteger waitingThreads = new AtomicInteger();

  /** How often a primary context is retained. */
  int retains = 1;

  /** What the heap of its kernels is counted with. */
  private long heapBytes;

  private volatile int error;

  ContextState(Backend backend, int number, int gpu, int device, long handle, boolean primary) {
    this.number = number;
    this.gpu = gpu;
    this.device = device;
    this.handle = handle;
    this.primary = primary;
    events = new EventPool(backend);
    staging = new Staging(backend);
  }

  /** Counts the heap with the size that it has; false if the lease has no room for it. */
  boolean countHeap(Ledger ledger, long bytes) {
    if (bytes > heapBytes && !ledger.reserve(gpu, bytes - heapBytes)) {
      return false;
    }
    if (bytes < heapBytes) {
      ledger.release(gpu, heapBytes - bytes);
    }
    heapBytes = bytes;
    return true;
  }

  boolean exists() {
    return handle != 0;
  }

  /** Keeps a posted call's error until the next fenced call; the first one counts. */
  synchronized void report(int result) {
    if (!CudaResult.isSticky(error) && (error == 0 || CudaResult.isSticky(result))) {
      error = result;
    }
  }

  /** The error to report, or 0; it is then reported, unless it is one that stays. */
  int takeError() {
    return error == 0 ? 0 : takeErrorThatIsThere();
  }

  private synchronized int takeErrorThatIsThere() {
    int result = error;
    if (!CudaResult.isSticky(result)) {
      error = 0;
    }
    return result;
  }
}
