// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker.nvidia;

import io.gpupool.cuda.CudaResult;
import io.gpupool.cuda.MemoryRange;
import io.gpupool.cuda.MemoryWindow;
import io.gpupool.cuda.Ops;
import io.gpupool.cuda.Relocation;
import io.gpupool.worker.nvidia.memory.MovableMemory;
import io.gpupool.worker.os.Memory;
import java.io.DataInput;
import java.io.DataOutput;
import java.lang.foreign.Arena;
import java.util.List;
import java.util.Optional;

/**
 * The moving of sessions between NVIDIA's GPUs. What a driver chooses by itself is checked where
 * the session is made again; what it cannot give back is named.
 */
final class NvidiaRelocation implements Relocation {
  private final NvidiaEvents driver;

  /** Whether a primary context is retained for memory that came before the session. */
  private boolean retained;

  NvidiaRelocation(NvidiaEvents driver) {
    this.driver = driver;
  }

  private MovableMemory memory() {
    MovableMemory memory = driver.movable();
    if (memory == null) {
      throw new IllegalStateException("the session has " + driver.obstacle());
    }
    return memory;
  }

  @Override
  public long memoryBase(int gpu) {
    return driver.movable() == null ? 0 : MovableMemory.BASE;
  }

  @Override
  public Optional<String> fixed() {
    MovableMemory memory = driver.movable();
    return memory == null ? Optional.of(driver.obstacle()) : memory.fixed();
  }

  @Override
  public Optional<String> fixed(int op) {
    return switch (op) {
      case Ops.memAllocAsync ->
          Optional.of("memory from a pool, whose addresses the driver chooses");
      case Ops.arrayCreate, Ops.mipmapCreate ->
          Optional.of("arrays, whose bytes the driver places by itself");
      case Ops.referenceFind ->
          Optional.of("texture references, which move between software GPUs only");
      default -> Optional.empty();
    };
  }

  @Override
  public void beginNoting() {
    MovableMemory memory = driver.movable();
    if (memory != null) {
      memory.beginNoting();
    }
  }

  @Override
  public long[] noted() {
    MovableMemory memory = driver.movable();
    return memory == null ? new long[0] : memory.noted();
  }

  @Override
  public void setRestoring(boolean restoring) {
    memory().setRestoring(restoring);
    if (!restoring && retained) {
      retained = false;
      int ignored = driver.cuDevicePrimaryCtxRelease_v2(memory().gpu());
    }
  }

  @Override
  public void plan(long[] numbers) {
    memory().plan(numbers);
  }

  @Override
  public boolean isPlanUsedUp() {
    return memory().isPlanUsedUp();
  }

  @Override
  public Optional<String> difference() {
    return memory().difference();
  }

  /**
   * A driver keeps nothing of a context for later: a session that moves has read what it prints.
   */
  @Override
  public void saveContext(long context, DataOutput to) {}

  @Override
  public int restoreContext(long context, DataInput from) {
    return 0;
  }

  @Override
  public long[] eventAges(long context, long[] events, long nowNanos) {
    return driver.times().ages(context, events, nowNanos);
  }

  @Override
  public void setEventAges(long context, long[] events, long[] agesNanos, long nowNanos) {
    driver.times().setAges(context, events, agesNanos, nowNanos);
  }

  @Override
  public List<MemoryRange> memory(int gpu) {
    return memory().ranges();
  }

  @Override
  public MemoryWindow openWindow() {
    return new StagedWindow(driver, memory());
  }

  @Override
  public int stage(long address, long lengthBytes) {
    MovableMemory memory = driver.movable();
    if (memory == null) {
      return CudaResult.INVALID_VALUE;
    }
    int result = driver.contexts().any(memory.gpu()).isPresent() ? 0 : retain(memory.gpu());
    return result == 0 ? memory.stage(address, lengthBytes) : result;
  }

  private int retain(int gpu) {
    try (Arena arena = Arena.ofConfined()) {
      long out = arena.allocate(Long.BYTES, Long.BYTES).address();
      int result = driver.cuDevicePrimaryCtxRetain(out, gpu);
      retained = result == 0;
      return result == 0 ? driver.cuCtxSetCurrent(Memory.getLong(out)) : result;
    }
  }
}
