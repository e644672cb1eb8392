// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker.session.collective;

import com.google.errorprone.annotations.concurrent.GuardedBy;
import io.gpupool.cuda.Backend;
import io.gpupool.cuda.CudaResult;
import io.gpupool.worker.session.core.ContextState;
import java.util.HashMap;
import java.util.Map;

/**
 * Marks behind the latest group of calls in each stream, which tell how many groups are not
 * complete. The session's thread sets them; any thread asks.
 */
final class StreamMarks {
  private final Backend backend;
  private final ContextState context;

  @GuardedBy("this")
  private final Map<Long, Mark> marks = new HashMap<>();

  private record Mark(long event, long groups) {}

  StreamMarks(Backend backend, ContextState context) {
    this.backend = backend;
    this.context = context;
  }

  /** Marks the end of a stream of the current context, behind one more group; returns CUresult. */
  synchronized int set(long stream) {
    Mark before = marks.get(stream);
    long event = before == null ? context.events.take() : before.event();
    if (event <= 0) {
      return (int) -event;
    }
    marks.put(stream, new Mark(event, before == null ? 1 : before.groups() + 1));
    return backend.cuEventRecord(event, stream);
  }

  /** Returns how many groups are not complete, as far as the latest of their streams tells. */
  synchronized long pending() {
    marks
        .values()
        .removeIf(mark -> {
          boolean isComplete = backend.cuEventQuery(mark.event()) != CudaResult.NOT_READY;
          if (isComplete) {
            context.events.give(mark.event());
          }
          return isComplete;
        });
    return marks.values().stream().mapToLong(Mark::groups).sum();
  }

  /** Forgets all, which go down with their context. */
  synchronized void forget() {
    marks.clear();
  }
}
