// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker.session.stream;

import com.google.errorprone.annotations.concurrent.GuardedBy;
import io.gpupool.cuda.Backend;
import io.gpupool.cuda.BackendTraits;
import io.gpupool.cuda.CudaResult;
import io.gpupool.worker.os.Memory;
import io.gpupool.worker.session.call.CurrentCall;
import io.gpupool.worker.session.call.ReachedWait;
import io.gpupool.worker.session.call.Waits;
import io.gpupool.worker.session.core.ContextState;
import io.gpupool.worker.session.core.Staging;
import java.util.ArrayDeque;
import java.util.HashMap;
import java.util.Map;

/**
 * Barriers that hold streams at a point and report when one is reached. Used by the session's
 * thread; streams reach barriers, and barriers are opened, in any thread.
 */
public final class StreamBarriers {
  /*
   * The software GPU has tasks of the host in its streams. A driver's host functions keep each other
   * waiting, in whatever streams they are, so there a stream waits for a word of page-locked memory,
   * and an event before it tells that it has come.
   */
  private static final int OPERATION_BYTES = 48;
  private static final int WAIT_VALUE_32 = 1;
  private static final int WORD_BYTES = 4;
  private static final int OPEN = 1;

  private final Backend backend;
  private final CurrentCall call;
  private final Waits waits;

  /** Free words; they go down with their context. */
  @GuardedBy("this")
  private final Map<ContextState, ArrayDeque<Long>> words = new HashMap<>();

  /** Told when a stream has come to a gate; must not wait. */
  public interface Arrival {
    /**
     * The stream waits.
     *
     * @param status CUresult of the stream
     * @param open to be run once, by any thread
     */
    void arrived(int status, Runnable open);
  }

  public StreamBarriers(Backend backend, CurrentCall call, Waits waits) {
    this.backend = backend;
    this.call = call;
    this.waits = waits;
  }

  /** Tells when a stream of the current context has come to here; returns a CUresult. */
  public int mark(long stream, Runnable reached) {
    int result =
        backend.launchHostTask(
            stream,
            true,
            (status, done) -> {
              reached.run();
              done.run();
            });
    return result == BackendTraits.NATIVE_HOST_FUNCTIONS
        ? whenReached(call.context(), stream, reached)
        : result;
  }

  /** Closes a stream of the current context here; returns a CUresult. */
  public int close(long stream, Arrival arrival) {
    int result = backend.launchHostTask(stream, true, arrival::arrived);
    return result == BackendTraits.NATIVE_HOST_FUNCTIONS ? closeByWord(stream, arrival) : result;
  }

  /** Has something done when a stream has come to an event that is recorded at its end now. */
  int whenReached(ContextState context, long stream, Runnable reached) {
    long event = context.events.take();
    int result = event > 0 ? backend.cuEventRecord(event, stream) : (int) -event;
    if (result == 0) {
      waits.add(new ReachedWait(context, backend, event, reached));
    }
    return result;
  }

  /** Forgets what it keeps in a context. */
  public synchronized void forget(ContextState context) {
    words.remove(context);
  }

  private int closeByWord(long stream, Arrival arrival) {
    ContextState context = call.context();
    long word = takeWord(context);
    if (word == 0) {
      return CudaResult.OUT_OF_MEMORY;
    }
    int result =
        whenReached(
            context, stream, () -> arrival.arrived(0, () -> Memory.putIntRelease(word, OPEN)));
    if (result != 0) {
      return result;
    }
    long operation = call.in();
    Memory.clear(operation, OPERATION_BYTES);
    Memory.putInt(operation, WAIT_VALUE_32);
    Memory.putLong(operation + 8, word);
    Memory.putInt(operation + 16, OPEN);
    result = backend.cuStreamBatchMemOp_v2(stream, 1, operation, 0);
    return result == 0 ? whenReached(context, stream, () -> giveWord(context, word)) : result;
  }

  private synchronized long takeWord(ContextState context) {
    ArrayDeque<Long> free = words.computeIfAbsent(context, key -> new ArrayDeque<>());
    if (free.isEmpty()) {
      long block = context.staging.take(Staging.SMALL_BYTES, Staging.MAX_BYTES);
      for (int at = 0; block != 0 && at < Staging.SMALL_BYTES; at += WORD_BYTES) {
        free.add(block + at);
      }
    }
    Long word = free.poll();
    if (word == null) {
      return 0;
    }
    Memory.putIntRelease(word, 0);
    return word;
  }

  private synchronized void giveWord(ContextState context, long word) {
    ArrayDeque<Long> free = words.get(context);
    if (free != null) {
      free.add(word);
    }
  }
}
