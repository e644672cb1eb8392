// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker.soft.state;

import com.google.errorprone.annotations.concurrent.GuardedBy;
import io.gpupool.soft.CudaStatus;
import io.gpupool.soft.GpuException;
import io.gpupool.soft.device.SoftDevice;
import io.gpupool.soft.device.SoftGpu;
import io.gpupool.soft.device.SoftPool;
import io.gpupool.soft.device.context.PrimaryContext;
import io.gpupool.soft.device.context.SoftContext;
import java.util.HashMap;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicInteger;
import org.jspecify.annotations.Nullable;

/**
 * The state that the software backend of one session keeps between calls. Any thread may use it.
 */
public final class SoftState {
  private final SoftGpu gpu;
  private final Handles handles = new Handles();
  private final Diagnostics diagnostics;
  private final PinnedMemory hostMemory = new PinnedMemory();

  @GuardedBy("this")
  private final Map<SoftDevice, PrimaryContext> primaries = new HashMap<>();

  @GuardedBy("this")
  private final Map<PrimaryContext, Long> primaryHandles = new HashMap<>();

  @GuardedBy("this")
  private final Map<SoftPool, Long> poolHandles = new HashMap<>();

  /** Nothing where no context is current. */
  private final ThreadLocal<ContextHandle> current = new ThreadLocal<>();

  private final AtomicInteger splits = new AtomicInteger();
  private volatile @Nullable GpuException lastFailure;

  public SoftState(SoftGpu gpu, Diagnostics diagnostics) {
    this.gpu = gpu;
    this.diagnostics = diagnostics;
  }

  public SoftGpu gpu() {
    return gpu;
  }

  public Handles handles() {
    return handles;
  }

  public PinnedMemory hostMemory() {
    return hostMemory;
  }

  public SoftContext currentContext() {
    ContextHandle context = current.get();
    if (context == null) {
      throw new GpuException(CudaStatus.INVALID_CONTEXT, "no context is current in this thread");
    }
    return context.context();
  }

  /** The context of a handle. */
  public SoftContext context(long handle) {
    return contextHandle(handle).context();
  }

  /** The device of the calling thread's context, or the first one. */
  public SoftDevice currentOrFirstDevice() {
    ContextHandle context = current.get();
    return context == null ? gpu.device(0) : context.context().device();
  }

  /** Runs an action once all work of the current context is done; at once if there is none. */
  public void afterWork(Runnable action) {
    if (current.get() == null) {
      action.run();
    } else {
      currentContext().afterWork(action);
    }
  }

  /** Makes the context of a handle current in this thread; none for 0. */
  public void setCurrent(long handle) {
    if (handle == 0) {
      current.remove();
    } else {
      current.set(contextHandle(handle));
    }
  }

  /** Returns the primary context of a device. */
  synchronized PrimaryContext primary(SoftDevice device) {
    return primaries.computeIfAbsent(device, PrimaryContext::new);
  }

  /** Returns the handle of a primary context, the same for as long as the session lives. */
  public synchronized long primaryHandle(PrimaryContext primary) {
    return primaryHandles.computeIfAbsent(
        primary, key -> handles.add(new ContextHandle.Primary(key)));
  }

  /** The handle of a pool, the same at every asking. */
  public synchronized long poolHandle(SoftPool pool) {
    return poolHandles.computeIfAbsent(pool, handles::add);
  }

  /** A number that no other split of resources has. */
  public int nextSplit() {
    return splits.incrementAndGet();
  }

  /** Notes why a call failed; gives its result code. */
  int failed(GpuException failure) {
    if (failure.status() != CudaStatus.NOT_READY) {
      lastFailure = failure;
      diagnostics.report(failure);
    }
    return failure.status().code();
  }

  /** Why the last call that failed did so. */
  public Optional<String> lastFailure() {
    return Optional.ofNullable(lastFailure).map(GpuException::getMessage);
  }

  private ContextHandle contextHandle(long handle) {
    if (handles.get(handle, Object.class) instanceof ContextHandle context) {
      return context;
    }
    throw new GpuException(CudaStatus.INVALID_CONTEXT, "the handle is no context's");
  }
}
