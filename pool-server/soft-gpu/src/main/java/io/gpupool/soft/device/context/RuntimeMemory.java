// SPDX-License-Identifier: Apache-2.0
package io.gpupool.soft.device.context;

import static java.util.Objects.requireNonNull;

import io.gpupool.soft.CudaStatus;
import io.gpupool.soft.GpuException;
import io.gpupool.soft.device.spec.Limits;
import io.gpupool.soft.nested.LaunchPool;
import java.io.DataInput;
import java.io.DataOutput;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import org.jspecify.annotations.Nullable;

/**
 * Device memory that kernels need to launch kernels: parameters of launches that have not begun,
 * and the texts of errors. It is taken when the first module is loaded that calls the device
 * runtime. Any thread may call it.
 */
public final class RuntimeMemory {
  /** Launches that may be pending; each takes memory of the worker, too. */
  private static final long MAX_PENDING = 1 << 16;

  private final SoftContext context;

  // Read without the monitor, which is held while a change of size waits for memory that running
  // kernels are to give back.
  private volatile @Nullable LaunchPool pool;
  private volatile long texts;

  private long poolAddress;

  RuntimeMemory(SoftContext context) {
    this.context = context;
  }

  /**
   * Takes the memory, unless that has been done.
   *
   * @throws GpuException OUT_OF_MEMORY
   */
  public synchronized void require() {
    if (pool == null) {
      place(context.limits().get(Limits.PENDING_LAUNCH_COUNT));
    }
    if (texts == 0) {
      MemorySegment bytes = MemorySegment.ofArray(ErrorTexts.all().bytes());
      long address = context.device().allocateAnywhere(bytes.byteSize(), context.moduleData());
      context.device().memory().view(address, bytes.byteSize()).copyFrom(bytes);
      texts = address;
    }
  }

  /**
   * Sets how many launches may be pending; for launches of the program that follow.
   *
   * @throws GpuException OUT_OF_MEMORY, INVALID_VALUE
   */
  synchronized void resize(long launches) {
    if (launches < 0) {
      throw new GpuException(CudaStatus.INVALID_VALUE, launches + " pending launches");
    }
    if (launches > MAX_PENDING) {
      throw new GpuException(
          CudaStatus.OUT_OF_MEMORY,
          launches + " pending launches; at most " + MAX_PENDING + " can be reserved");
    }
    if (pool != null && !context.device().gpu().placements().isRestoring()) {
      long before = poolAddress;
      place(launches);
      context.freeWhenDone(before, () -> {});
    }
    context.limits().set(Limits.PENDING_LAUNCH_COUNT, launches);
  }

  /** Writes down where it is. */
  synchronized void save(DataOutput to) throws IOException {
    to.writeLong(pool == null ? 0 : poolAddress);
    to.writeLong(context.limits().get(Limits.PENDING_LAUNCH_COUNT));
    to.writeLong(texts);
  }

  /**
   * Makes it as it was written down; nothing was allocated yet.
   *
   * @throws GpuException INVALID_VALUE, OUT_OF_MEMORY
   */
  synchronized void restore(DataInput from) throws IOException {
    long address = from.readLong();
    long launches = from.readLong();
    if (address != 0) {
      context.device().memory().allocateAt(address, poolBytes(launches), context.moduleData());
      use(address, launches);
    }
    texts = from.readLong();
    if (texts != 0) {
      // What it contains is restored with all memory.
      context
          .device()
          .memory()
          .allocateAt(texts, ErrorTexts.all().bytes().length, context.moduleData());
    }
  }

  private static long poolBytes(long launches) {
    return Math.max(launches, 1) * LaunchPool.BYTES_PER_LAUNCH;
  }

  private void place(long launches) {
    long bytes = poolBytes(launches);
    use(context.device().allocateAnywhere(bytes, context.moduleData()), launches);
  }

  private void use(long address, long launches) {
    long bytes = poolBytes(launches);
    poolAddress = address;
    MemorySegment memory = context.device().memory().view(poolAddress, bytes);
    pool = new LaunchPool(memory, poolAddress, launches);
  }

  /** The launches that may be pending; there is one once a module with launches is loaded. */
  public LaunchPool pool() {
    return requireNonNull(pool);
  }

  /** Device address of the name of a cudaError. */
  public long errorName(int error) {
    return texts + ErrorTexts.all().name(error);
  }

  /** Device address of the description of a cudaError. */
  public long errorText(int error) {
    return texts + ErrorTexts.all().description(error);
  }
}
