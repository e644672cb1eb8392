// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker.nvidia;

import com.google.errorprone.annotations.concurrent.GuardedBy;
import io.gpupool.cuda.CudaResult;
import io.gpupool.worker.os.Memory;
import java.lang.foreign.Arena;
import java.util.ArrayDeque;
import java.util.HashMap;
import java.util.Map;

/** Timing events of NVIDIA's driver, kept for the next batch. Any thread may use them. */
final class DriverEvents implements TimingEvents {
  private static final double NANOS_PER_MILLI = 1e6;

  private final NvidiaContexts driver;

  @GuardedBy("this")
  private final Map<Long, ArrayDeque<Long>> idle = new HashMap<>();

  private final long out = Arena.global().allocate(Long.BYTES, Long.BYTES).address();

  DriverEvents(NvidiaContexts driver) {
    this.driver = driver;
  }

  @Override
  public long select(long context) {
    long before = driver.currentContext();
    if (before != context) {
      int ignored = driver.cuCtxSetCurrent(context);
    }
    return before;
  }

  @Override
  public synchronized long record(long context, long stream) {
    Long kept = idle.computeIfAbsent(context, key -> new ArrayDeque<>()).poll();
    long event = kept == null ? create() : kept;
    if (event != NONE && driver.recordEvent(event, stream) != 0) {
      release(context, event);
      return NONE;
    }
    return event;
  }

  private long create() {
    return driver.cuEventCreate(out, 0) == 0 ? Memory.getLong(out) : NONE;
  }

  @Override
  public boolean isReached(long event) {
    return driver.cuEventQuery(event) != CudaResult.NOT_READY;
  }

  @Override
  public synchronized long elapsedNanos(long from, long to) {
    return driver.cuEventElapsedTime(out, from, to) == 0
        ? Math.round(Float.intBitsToFloat(Memory.getInt(out)) * NANOS_PER_MILLI)
        : -1;
  }

  @Override
  public synchronized void release(long context, long event) {
    ArrayDeque<Long> events = idle.get(context);
    if (events != null) {
      events.push(event);
    }
  }

  @Override
  public synchronized void forget(long context) {
    idle.remove(context);
  }
}
