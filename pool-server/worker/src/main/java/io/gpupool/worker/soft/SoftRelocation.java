// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker.soft;

import io.gpupool.cuda.MemoryRange;
import io.gpupool.cuda.MemoryWindow;
import io.gpupool.cuda.Relocation;
import io.gpupool.soft.CudaStatus;
import io.gpupool.soft.GpuException;
import io.gpupool.soft.device.SoftDevice;
import io.gpupool.soft.device.SoftPool;
import io.gpupool.soft.device.context.SoftContext;
import io.gpupool.soft.device.context.SoftEvent;
import io.gpupool.soft.memory.Allocation;
import io.gpupool.worker.soft.state.SoftCalls;
import io.gpupool.worker.soft.state.SoftState;
import java.io.DataInput;
import java.io.DataOutput;
import java.io.IOException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.OptionalLong;

/** The moving of sessions between software GPUs. */
final class SoftRelocation extends SoftCalls implements Relocation {
  private static final MemoryWindow IN_PLACE =
      new MemoryWindow() {
        @Override
        public boolean inPlace() {
          return true;
        }

        @Override
        public long read(long address, long lengthBytes) {
          return address;
        }

        @Override
        public long space(long address, long lengthBytes) {
          return address;
        }

        @Override
        public int write(long address, long lengthBytes) {
          return CudaStatus.SUCCESS.code();
        }

        @Override
        public void close() {}
      };

  SoftRelocation(SoftState state) {
    super(state);
  }

  @Override
  public long memoryBase(int gpu) {
    return device(gpu).memory().baseAddress();
  }

  @Override
  public void beginNoting() {
    state().gpu().placements().begin();
  }

  @Override
  public long[] noted() {
    return state().gpu().placements().end();
  }

  @Override
  public void setRestoring(boolean restoring) {
    state().gpu().placements().setRestoring(restoring);
  }

  @Override
  public void plan(long[] numbers) {
    state().gpu().placements().plan(numbers);
  }

  @Override
  public boolean isPlanUsedUp() {
    return state().gpu().placements().isUsedUp();
  }

  @Override
  public void saveContext(long context, DataOutput to) throws IOException {
    state().context(context).save(to);
  }

  @Override
  public int restoreContext(long context, DataInput from) throws IOException {
    try {
      state().context(context).restore(from);
      return CudaStatus.SUCCESS.code();
    } catch (GpuException e) {
      return e.status().code();
    }
  }

  @Override
  public long[] eventAges(long context, long[] events, long nowNanos) {
    return Arrays.stream(events).map(event -> age(event, nowNanos)).toArray();
  }

  private long age(long event, long nowNanos) {
    OptionalLong reached = state().handles().get(event, SoftEvent.class).reachedNanos();
    return reached.isPresent() ? nowNanos - reached.getAsLong() : NO_AGE;
  }

  @Override
  public void setEventAges(long context, long[] events, long[] agesNanos, long nowNanos) {
    for (int i = 0; i < events.length; i++) {
      state().handles().get(events[i], SoftEvent.class).restore(nowNanos - agesNanos[i]);
    }
  }

  @Override
  public List<MemoryRange> memory(int gpu) {
    SoftDevice device = device(gpu);
    List<MemoryRange> ranges = new ArrayList<>();
    for (Allocation allocation : device.memory().allocations()) {
      // What modules and arrays have is written to when they are made again.
      boolean own =
          allocation.owner() instanceof SoftContext || allocation.owner() instanceof SoftPool;
      ranges.add(new MemoryRange(allocation.address(), allocation.sizeBytes(), own));
    }
    device
        .memory()
        .virtual()
        .mappings()
        .forEach((address, length) -> ranges.add(new MemoryRange(address, length, false)));
    return ranges;
  }

  @Override
  public MemoryWindow openWindow() {
    return IN_PLACE;
  }

  @Override
  public int stage(long address, long lengthBytes) {
    return call(() -> state().gpu().requireDeviceOf(address).memory().stage(address, lengthBytes));
  }
}
