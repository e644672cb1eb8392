// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker.session.core;

import io.gpupool.cuda.Backend;
import io.gpupool.cuda.CudaResult;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * A context of the client: its backend handle, the error it has to report, and what the session
 * keeps in it for itself. The session's thread owns it; waiting threads use the pools and may set
 * the error.
 */
public final class ContextState {
  /** The client's number. */
  public final int number;

  /** The client's number of the GPU. */
  public final int gpu;

  /** The backend's CUdevice. */
  public final int device;

  /** The backend's handle; 0: no context. */
  public final long handle;

  public final boolean primary;

  /** The primary context that a green one is a part of; otherwise itself. */
  public final ContextState home;

  /** The backend's CUgreenCtx; 0: a context of its own. */
  public final long green;

  /** The green contexts that are part of this one. */
  public final List<ContextState> greens = new ArrayList<>();

  public final EventPool events;
  public final StreamPool spareStreams;
  public final PrintBuffer printed;
  public final Staging staging;

  /** Waiting threads that may be inside a call on an event of this context. */
  public final AtomicInteger waitingThreads = new AtomicInteger();

  private int retains = 1;
  private long localBytes;
  private long heapBytes;
  private volatile int error;

  public ContextState(
      Backend backend, int number, int gpu, int device, long handle, boolean primary) {
    this.number = number;
    this.gpu = gpu;
    this.device = device;
    this.handle = handle;
    this.primary = primary;
    home = this;
    green = 0;
    printed = new PrintBuffer(backend, handle);
    events = new EventPool(backend);
    spareStreams = new StreamPool(backend);
    staging = new Staging(backend);
  }

  /** The stand-in for a context that does not exist. */
  public static ContextState none(Backend backend) {
    return new ContextState(backend, 0, -1, -1, 0, false);
  }

  /** A green context. */
  public ContextState(Backend backend, int number, ContextState home, long handle, long green) {
    this.number = number;
    this.home = home;
    this.handle = handle;
    this.green = green;
    gpu = home.gpu;
    device = home.device;
    primary = false;
    printed = home.printed;
    events = new EventPool(backend);
    spareStreams = new StreamPool(backend);
    staging = new Staging(backend);
  }

  /** Returns how often a primary context is retained. */
  public int retains() {
    return retains;
  }

  public void setRetains(int count) {
    retains = count;
  }

  /** The most local memory of a thread, among the functions that were launched. */
  public long localBytes() {
    return localBytes;
  }

  public void setLocalBytes(long bytes) {
    localBytes = bytes;
  }

  /** The bytes that the heap of its kernels is counted with. */
  public long heapBytes() {
    return heapBytes;
  }

  public void setHeapBytes(long bytes) {
    heapBytes = bytes;
  }

  public boolean isGreen() {
    return green != 0;
  }

  public boolean exists() {
    return handle != 0;
  }

  /**
   * Keeps a posted call's error until the next fenced call; the first one counts. That of a green
   * context is its primary context's, which programs wait for.
   */
  public void report(int result) {
    home.keep(result);
  }

  private synchronized void keep(int result) {
    if (!CudaResult.isSticky(error) && (error == 0 || CudaResult.isSticky(result))) {
      error = result;
    }
  }

  /** The error to report, which stays to be reported; or 0. */
  public int error() {
    return home.error;
  }

  /** Returns whether it has an error that stays. */
  public boolean hasFailed() {
    return CudaResult.isSticky(home.error);
  }

  /** The error to report, or 0; it is then reported, unless it is one that stays. */
  public int takeError() {
    return home.error == 0 ? 0 : home.takeErrorThatIsThere();
  }

  private synchronized int takeErrorThatIsThere() {
    int result = error;
    if (!CudaResult.isSticky(result)) {
      error = 0;
    }
    return result;
  }
}
