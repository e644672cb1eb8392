// SPDX-License-Identifier: Apache-2.0
package io.gpupool.soft.device.context;

import io.gpupool.soft.CudaStatus;
import io.gpupool.soft.GpuException;
import io.gpupool.soft.device.SoftDevice;
import io.gpupool.soft.device.SoftPool;
import io.gpupool.soft.device.spec.ComputeLimits;
import io.gpupool.soft.device.spec.Limits;
import io.gpupool.soft.device.work.AfterWork;
import io.gpupool.soft.device.work.Completion;
import io.gpupool.soft.device.work.Scheduler;
import io.gpupool.soft.device.work.Work;
import io.gpupool.soft.memory.Allocation;
import io.gpupool.soft.memory.SharedMarks;
import io.gpupool.soft.texture.ReferenceBindings;
import java.io.DataInput;
import java.io.DataOutput;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicReference;
import org.jspecify.annotations.Nullable;

/**
 * A context of a device: its streams, memory, modules and its fault. A fault is for ever: every
 * later call gives it again, and what was queued does nothing. Any thread may call it.
 */
public final class SoftContext {
  /** Priorities of streams: the greatest is the lowest number. */
  public static final int GREATEST_PRIORITY = -5;

  public static final int LEAST_PRIORITY = 0;

  private static final AtomicLong NEXT_ID = new AtomicLong(1);

  private final SoftDevice device;
  private final Scheduler scheduler;
  private final long id = NEXT_ID.getAndIncrement();
  private final SoftStream legacy;
  private final Limits limits = new Limits();
  private final KernelHeap heap = new KernelHeap(this);
  private final RuntimeMemory runtimeMemory = new RuntimeMemory(this);
  private final StreamOrder order;
  private final SharedMemory sharedMemory = new SharedMemory(this);
  private final Conditions conditions = new Conditions(this);
  private final ReferenceBindings references = new ReferenceBindings();
  private final AtomicReference<@Nullable GpuException> fault = new AtomicReference<>();

  /** Owner of the memory that variables and arrays lie in, which the program cannot free. */
  private final Object moduleData = new Object();

  private final PeerAccess peers = new PeerAccess(this);

  private volatile int flags;
  private volatile boolean destroyed;

  /**
   * Makes a context.
   *
   * @param flags CUctx_flags
   */
  public SoftContext(SoftDevice device, int flags) {
    this.device = device;
    this.flags = flags;
    scheduler = device.gpu().scheduler();
    legacy = new SoftStream(this, SoftStream.Kind.LEGACY, 0, NEXT_ID.getAndIncrement());
    order = new StreamOrder(scheduler, legacy);
  }

  public SoftDevice device() {
    return device;
  }

  /** Unlike that of any other context of this process. */
  public long id() {
    return id;
  }

  public int flags() {
    return flags;
  }

  void setFlags(int newFlags) {
    flags = newFlags;
  }

  /** Behind the {@code malloc} of kernels. */
  public KernelHeap heap() {
    return heap;
  }

  /** What kernels that launch kernels need. */
  public RuntimeMemory runtimeMemory() {
    return runtimeMemory;
  }

  /** Writes down the memory that it has for its own needs; none of its work is under way. */
  public void save(DataOutput to) throws IOException {
    heap.save(to);
    runtimeMemory.save(to);
  }

  /**
   * Takes the memory that was written down, in a context that has none yet.
   *
   * @throws GpuException INVALID_VALUE, OUT_OF_MEMORY
   */
  public void restore(DataInput from) throws IOException {
    heap.restore(from);
    runtimeMemory.restore(from);
  }

  /** The sizes that {@code cuCtxSetLimit} sets. */
  public Limits limits() {
    return limits;
  }

  /** Sets a CUlimit. */
  public void setLimit(int limit, long value) {
    if (limit == Limits.MALLOC_HEAP_SIZE) {
      heap.resize(value);
    } else if (limit == Limits.PENDING_LAUNCH_COUNT) {
      runtimeMemory.resize(value);
    } else {
      limits.set(limit, value);
    }
  }

  /** The stream that operations without a stream go to. */
  public SoftStream legacyStream() {
    return legacy;
  }

  /**
   * Makes a stream.
   *
   * @param streamFlags CUstream_flags
   * @param priority outside the range of priorities it is taken as the nearest
   */
  public SoftStream createStream(int streamFlags, int priority) {
    requireUsable();
    if ((streamFlags & ~SoftStream.NON_BLOCKING) != 0) {
      throw new GpuException(CudaStatus.INVALID_VALUE, "unknown stream flags " + streamFlags);
    }
    SoftStream stream =
        new SoftStream(
            this,
            streamFlags == 0 ? SoftStream.Kind.BLOCKING : SoftStream.Kind.NON_BLOCKING,
            Math.clamp(priority, GREATEST_PRIORITY, LEAST_PRIORITY),
            NEXT_ID.getAndIncrement());
    order.add(stream);
    return stream;
  }

  /**
   * Makes an event.
   *
   * @param eventFlags CUevent_flags
   */
  public SoftEvent createEvent(int eventFlags) {
    requireUsable();
    return new SoftEvent(this, eventFlags);
  }

  /**
   * Another process's event.
   *
   * @param descriptor of what {@link SoftEvent#shared} is there; stays the caller's
   */
  public SoftEvent openEvent(int descriptor) {
    requireUsable();
    return new SoftEvent(this, SharedMarks.open(descriptor));
  }

  /**
   * Allocates device memory.
   *
   * @throws GpuException INVALID_VALUE for 0 bytes, OUT_OF_MEMORY
   */
  public long allocate(long bytes) {
    requireUsable();
    return device.allocate(bytes, this);
  }

  /**
   * Allocates device memory at an address of the caller's choice.
   *
   * @throws GpuException INVALID_VALUE for 0 bytes, or unless the address is one that allocations
   *     have and is free, OUT_OF_MEMORY
   */
  public void allocateAt(long address, long bytes) {
    requireUsable();
    device.memory().allocateAt(address, bytes, this);
  }

  /**
   * Allocates rows of which each starts aligned.
   *
   * @param elementBytes 4, 8 or 16
   */
  public Pitched allocatePitched(long widthBytes, long height, int elementBytes) {
    requireUsable();
    if (widthBytes <= 0
        || height <= 0
        || widthBytes > device.totalMemoryBytes()
        || height > device.totalMemoryBytes()
        || (elementBytes != 4 && elementBytes != 8 && elementBytes != 16)) {
      throw new GpuException(
          CudaStatus.INVALID_VALUE,
          widthBytes + " bytes x " + height + " rows of " + elementBytes + "-byte elements");
    }
    long pitch =
        (widthBytes + ComputeLimits.PITCH_ALIGNMENT_BYTES - 1)
            & -ComputeLimits.PITCH_ALIGNMENT_BYTES;
    return new Pitched(device.allocate(pitch * height, this), pitch);
  }

  /**
   * Makes a condition for graphs.
   *
   * @param assigned whether launches begin with {@code defaultValue}
   */
  public SoftCondition createCondition(int defaultValue, boolean assigned) {
    requireUsable();
    return conditions.create(defaultValue, assigned);
  }

  /**
   * The condition of a handle.
   *
   * @throws GpuException INVALID_VALUE if there is none
   */
  public SoftCondition condition(long handle) {
    return conditions.find(handle);
  }

  /** The order in which works of its streams run. */
  public StreamOrder order() {
    return order;
  }

  /** The end of all that has been submitted to any stream of this context. */
  public Completion completion() {
    return order.completion();
  }

  /** The contexts that it may access the memory of. */
  public PeerAccess peers() {
    return peers;
  }

  /** The memory that it shares with other processes. */
  public SharedMemory sharedMemory() {
    return sharedMemory;
  }

  /** Returns what references of this context's modules are bound to. */
  public ReferenceBindings references() {
    return references;
  }

  /**
   * A box of device memory, of any device.
   *
   * @param address of its first byte
   * @param rows of a slice
   * @throws GpuException INVALID_VALUE if it is not within one allocation
   */
  public PitchedRegion rows(long address, long pitchBytes, long rows, PitchedRegion.Extent extent) {
    if (pitchBytes < 0 || rows < 0 || pitchBytes != 0 && rows > Long.MAX_VALUE / pitchBytes) {
      throw new GpuException(
          CudaStatus.INVALID_VALUE, "slices of " + rows + " rows of " + pitchBytes + " bytes");
    }
    long slice = pitchBytes * rows;
    return new PitchedRegion(
        view(address, extent.span(pitchBytes, slice)), pitchBytes, slice, extent);
  }

  /**
   * Frees memory of the program once all work submitted to this context is done; does not wait.
   *
   * @throws GpuException INVALID_VALUE if no allocation of the program starts at {@code address}
   */
  public void free(long address) {
    requireUsable();
    order.submitAfterAll(freeing(address), false);
  }

  /**
   * Runs an action once all that has been submitted is done, on any thread; whatever waits for the
   * context later waits for the action, too.
   *
   * @param action short, and neither waits nor submits anything
   */
  public void afterWork(Runnable action) {
    order.submitAfterAll(new AfterWork(scheduler, action), true);
  }

  /** The live allocation of any device that an address lies in. */
  public Optional<Allocation> find(long address) {
    SoftDevice home = device.gpu().deviceOf(address);
    return home == null ? Optional.empty() : home.memory().find(address);
  }

  /** Why the context is unusable for ever, if it is. */
  public Optional<GpuException> fault() {
    return Optional.ofNullable(fault.get());
  }

  /** Throws the context's fault, or CONTEXT_IS_DESTROYED. */
  public void requireUsable() {
    GpuException failure = fault.get();
    if (failure != null) {
      throw failure;
    }
    if (destroyed) {
      throw new GpuException(CudaStatus.CONTEXT_IS_DESTROYED, "the context is destroyed");
    }
  }

  public boolean isDestroyed() {
    return destroyed;
  }

  /** Ends the context; its memory is freed when its work is done. */
  public void destroy() {
    synchronized (this) {
      if (destroyed) {
        throw new GpuException(CudaStatus.CONTEXT_IS_DESTROYED, "the context is destroyed");
      }
      destroyed = true;
    }
    List<Allocation> mine = new ArrayList<>(device.memory().allocationsOf(this));
    mine.addAll(device.memory().allocationsOf(moduleData));
    mine.forEach(allocation -> device.memory().retire(allocation.address()));
    completion()
        .whenDone(() -> {
          device.gpu().textures().removeOwnedBy(this);
          mine.forEach(allocation -> device.memory().free(allocation.address()));
        });
  }

  public Object moduleData() {
    return moduleData;
  }

  /** Gives the context its fault, unless it has one. */
  public void fail(GpuException failure) {
    fault.compareAndSet(null, failure);
  }

  /** The bytes of a range of any device's memory. */
  public MemorySegment view(long address, long lengthBytes) {
    return device.gpu().requireDeviceOf(address).memory().view(address, lengthBytes);
  }

  /**
   * Retires memory that was made for this context's modules and arrays, and frees it when the
   * context's work is done; nothing happens if it went down with the context.
   *
   * @param beforehand what to let go of just before it is freed
   */
  public void freeWhenDone(long address, Runnable beforehand) {
    if (device.memory().find(address).isPresent()) {
      device.memory().retire(address);
      completion()
          .whenDone(() -> {
            beforehand.run();
            device.memory().free(address);
          });
    }
  }

  /** Retires an allocation of the program; the result frees it. */
  Work freeing(long address) {
    Allocation allocation =
        find(address)
            .filter(found -> found.address() == address)
            .orElseThrow(() -> notAllocated(address));
    SoftDevice home = device.gpu().requireDeviceOf(address);
    return switch (allocation.owner()) {
      case SoftContext owner -> home.freeing(address);
      case SoftPool pool -> {
        Work work = home.freeing(address);
        pool.freed(allocation.sizeBytes());
        yield work;
      }
      default -> throw notAllocated(address);
    };
  }

  static GpuException notAllocated(long address) {
    return new GpuException(
        CudaStatus.INVALID_VALUE, "no allocation starts at 0x" + Long.toHexString(address));
  }

  /**
   * Memory in aligned rows.
   *
   * @param pitchBytes from one row to the next
   */
  public record Pitched(long address, long pitchBytes) {}
}
