// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker.nvidia;

import com.google.errorprone.annotations.concurrent.GuardedBy;
import io.gpupool.cuda.CudaResult;
import io.gpupool.worker.os.Memory;
import java.lang.foreign.Arena;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import java.util.function.LongConsumer;

/** Allocations that are to be freed once a stream has come to a place. Any thread may use it. */
final class StreamOrderedFrees {
  private static final int DISABLE_TIMING = 2;

  private final NvidiaContexts driver;

  @GuardedBy("this")
  private final List<Pending> pending = new ArrayList<>();

  private record Pending(long context, long event, long address) {}

  StreamOrderedFrees(NvidiaContexts driver) {
    this.driver = driver;
  }

  /** Has an allocation freed once a stream of the current context comes to its end as it is now. */
  synchronized int add(long address, long stream) {
    try (Arena arena = Arena.ofConfined()) {
      long out = arena.allocate(Long.BYTES, Long.BYTES).address();
      int result = driver.cuEventCreate(out, DISABLE_TIMING);
      if (result != 0) {
        return result;
      }
      long event = Memory.getLong(out);
      result = driver.recordEvent(event, stream);
      if (result == 0) {
        pending.add(new Pending(driver.currentContext(), event, address));
      } else {
        int ignored = driver.cuEventDestroy_v2(event);
      }
      return result;
    }
  }

  /** Frees what can be freed now. */
  void look(LongConsumer freeing) {
    reached().forEach(freeing::accept);
  }

  private synchronized List<Long> reached() {
    List<Long> reached = new ArrayList<>();
    if (pending.isEmpty()) {
      return reached;
    }
    long before = driver.currentContext();
    for (Iterator<Pending> all = pending.iterator(); all.hasNext(); ) {
      Pending next = all.next();
      if (driver.cuCtxSetCurrent(next.context) == 0
          && driver.cuEventQuery(next.event) != CudaResult.NOT_READY) {
        int ignored = driver.cuEventDestroy_v2(next.event);
        reached.add(next.address);
        all.remove();
      }
    }
    int ignored = driver.cuCtxSetCurrent(before);
    return reached;
  }

  /** A context has ended, with its memory and events. */
  synchronized void contextEnded(long context) {
    pending.removeIf(next -> next.context == context);
  }
}
