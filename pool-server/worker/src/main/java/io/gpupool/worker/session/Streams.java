// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker.session;

import io.gpupool.cuda.Backend;
import io.gpupool.cuda.SessionServices;
import io.gpupool.cuda.StreamOps;
import io.gpupool.cuda.WireStruct;
import io.gpupool.worker.os.Memory;
import java.lang.foreign.Arena;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.function.IntSupplier;

/** Streams, events and the calls that wait for them. Used by the session's thread alone. */
final class Streams implements StreamOps {

  private final SessionState state;
  private long[] gathered = new long[8];
  private int gatheredCount;
  private int gatheredResult;

  Streams(SessionState state) {
    this.state = state;
  }

  @Override
  public int streamCreate(int stream, int flags, int priority) {
    int refused = state.current.exists() ? state.streams.check(stream) : CudaResult.INVALID_CONTEXT;
    if (refused != 0) {
      return refused;
    }
    long out = state.out();
    int result = state.backend.cuStreamCreateWithPriority(out, flags, priority);
    if (result == 0) {
      state.streams.put(stream, Memory.getLong(out), state.current);
    }
    return result;
  }

  @Override
  public int streamDestroy(int stream) {
    long handle = state.streams.get(stream);
    if (handle == SessionServices.NO_HANDLE) {
      return CudaResult.INVALID_HANDLE;
    }
    state.streams.remove(stream);
    return state.backend.cuStreamDestroy_v2(handle);
  }

  @Override
  public void streamQuery(int tag, int stream) {
    long handle = state.stream(stream);
    if (handle == SessionServices.NO_HANDLE) {
      state.reply(tag, CudaResult.INVALID_HANDLE);
      return;
    }
    answer(tag, state.backend.cuStreamQuery(handle));
  }

  @Override
  public void streamSynchronize(int tag, int stream) {
    ContextState context = state.current;
    long handle = state.stream(stream);
    int refused = context.exists() ? SessionState.found(handle) : CudaResult.INVALID_CONTEXT;
    if (refused != 0) {
      state.reply(tag, refused);
      return;
    }
    int result = state.backend.cuStreamQuery(handle);
    if (result == 0 && state.waits.driverPrints()) {
      // Nothing is left to wait for, and only this thread adds work.
      result = state.backend.cuStreamSynchronize(handle);
    }
    if (result != CudaResult.NOT_READY) {
      answer(tag, result);
      return;
    }
    long event = mark(handle);
    if (event < 0) {
      state.reply(tag, (int) -event);
    } else {
      fence(context, tag, event);
    }
  }

  @Override
  public void ctxSynchronize(int tag) {
    ContextState context = state.current;
    if (!context.exists()) {
      state.reply(tag, CudaResult.INVALID_CONTEXT);
      return;
    }
    gatheredCount = 0;
    gatheredResult = 0;
    inEachPart(() -> {
      gather(0);
      return CudaResult.SUCCESS;
    });
    handlesOf(context).forEach(this::gather);
    if (gatheredCount == 0) {
      if (gatheredResult == 0 && state.waits.driverPrints()) {
        gatheredResult = state.backend.cuCtxSynchronize();
      }
      answer(tag, gatheredResult);
    } else {
      fence(context, tag, Arrays.copyOf(gathered, gatheredCount));
    }
  }

  @Override
  public int streamWaitEvent(int stream, int event, int flags) {
    long streamHandle = state.stream(stream);
    long eventHandle = state.events.get(event);
    if (streamHandle == SessionServices.NO_HANDLE || eventHandle == SessionServices.NO_HANDLE) {
      return CudaResult.INVALID_HANDLE;
    }
    return state.backend.cuStreamWaitEvent(streamHandle, eventHandle, flags);
  }

  @Override
  public int eventCreate(int event, int flags) {
    int refused = state.current.exists() ? state.events.check(event) : CudaResult.INVALID_CONTEXT;
    if (refused != 0) {
      return refused;
    }
    long out = state.out();
    int result = state.backend.cuEventCreate(out, flags);
    if (result == 0) {
      state.events.put(event, Memory.getLong(out), state.current);
    }
    return result;
  }

  @Override
  public int eventDestroy(int event) {
    long handle = state.events.get(event);
    if (handle == SessionServices.NO_HANDLE) {
      return CudaResult.INVALID_HANDLE;
    }
    state.events.remove(event);
    state.exports.withdraw(Exchange.Kind.EVENT, event, () -> {});
    return state.backend.cuEventDestroy_v2(handle);
  }

  @Override
  public int eventRecord(int event, int stream, int flags) {
    long streamHandle = state.stream(stream);
    long eventHandle = state.events.get(event);
    if (streamHandle == SessionServices.NO_HANDLE || eventHandle == SessionServices.NO_HANDLE) {
      return CudaResult.INVALID_HANDLE;
    }
    return flags == 0
        ? state.backend.cuEventRecord(eventHandle, streamHandle)
        : state.backend.cuEventRecordWithFlags(eventHandle, streamHandle, flags);
  }

  /** Puts memory operations into a stream: all of them, or none if one is not the session's. */
  @Override
  public int streamMemoryOperations(int stream, WireStruct operations) {
    long handle = state.stream(stream);
    if (handle == SessionServices.NO_HANDLE) {
      return CudaResult.INVALID_HANDLE;
    }
    long lengthBytes = operations.lengthBytes();
    if (lengthBytes == 0 || lengthBytes % MemoryOperations.BYTES != 0) {
      return CudaResult.INVALID_VALUE;
    }
    int count = (int) (lengthBytes / MemoryOperations.BYTES);
    try (Arena arena = Arena.ofConfined()) {
      long params = arena.allocate(lengthBytes, Long.BYTES).address();
      for (int i = 0; i < count; i++) {
        long to = params + (long) MemoryOperations.BYTES * i;
        int refused = MemoryOperations.write(state, operations, i, to);
        if (refused != 0) {
          return refused;
        }
      }
      return state.backend.cuStreamBatchMemOp_v2(handle, count, params, 0);
    }
  }

  /** Records an event behind all that is in a context's streams. */
  @Override
  public int ctxRecordEvent(int event) {
    long eventHandle = state.events.get(event);
    if (eventHandle == SessionServices.NO_HANDLE) {
      return CudaResult.INVALID_HANDLE;
    }
    long joining = state.current.spareStreams.take();
    if (joining < 0) {
      return (int) -joining;
    }
    int result = inEachPart(() -> join(joining, 0));
    for (long handle : handlesOf(state.current)) {
      result = result == 0 ? join(joining, handle) : result;
    }
    if (result == 0) {
      result = state.backend.cuEventRecord(eventHandle, joining);
    }
    state.current.spareStreams.give(joining);
    return result;
  }

  /** Makes all streams that a context has wait for an event. */
  @Override
  public int ctxWaitEvent(int event) {
    long eventHandle = state.events.get(event);
    if (eventHandle == SessionServices.NO_HANDLE) {
      return CudaResult.INVALID_HANDLE;
    }
    int result = inEachPart(() -> state.backend.cuStreamWaitEvent(0, eventHandle, 0));
    for (long handle : handlesOf(state.current)) {
      result = result == 0 ? state.backend.cuStreamWaitEvent(handle, eventHandle, 0) : result;
    }
    return result;
  }

  private int join(long joining, long stream) {
    long event = mark(stream);
    if (event < 0) {
      return (int) -event;
    }
    int result = state.backend.cuStreamWaitEvent(joining, event, 0);
    state.current.events.give(event);
    return result;
  }

  /** Streams of a context and of the green ones that are part of it, default streams apart. */
  private List<Long> handlesOf(ContextState context) {
    List<Long> handles = new ArrayList<>();
    state.streams.forEachOwnedBy(context, (number, handle) -> handles.add(handle));
    for (ContextState green : context.greens) {
      state.streams.forEachOwnedBy(green, (number, handle) -> handles.add(handle));
    }
    return handles;
  }

  /**
   * Does something with stream 0 of the current context and of the green ones that are part of it.
   */
  private int inEachPart(IntSupplier step) {
    int result = step.getAsInt();
    for (ContextState green : state.current.greens) {
      state.backend.cuCtxSetCurrent(green.handle);
      result = result == 0 ? step.getAsInt() : result;
    }
    if (!state.current.greens.isEmpty()) {
      state.backend.cuCtxSetCurrent(state.current.handle);
    }
    return result;
  }

  @Override
  public void eventQuery(int tag, int event) {
    long handle = state.events.get(event);
    if (handle == SessionServices.NO_HANDLE) {
      state.reply(tag, CudaResult.INVALID_HANDLE);
      return;
    }
    answer(tag, state.backend.cuEventQuery(handle));
  }

  @Override
  public void eventSynchronize(int tag, int event) {
    long handle = state.events.get(event);
    if (handle == SessionServices.NO_HANDLE) {
      state.reply(tag, CudaResult.INVALID_HANDLE);
      return;
    }
    int result = state.backend.cuEventQuery(handle);
    if (result != CudaResult.NOT_READY) {
      answer(tag, result);
      return;
    }
    // The client may record or destroy its event meanwhile: what counts is where it is now, which
    // an
    // event of the session's own behind it, in a stream of its own, keeps.
    ContextState context = (ContextState) state.events.owner(event);
    Backend backend = state.backend;
    backend.cuCtxSetCurrent(context.handle);
    long stream = context.spareStreams.take();
    long own = stream;
    if (stream > 0) {
      result = backend.cuStreamWaitEvent(stream, handle, 0);
      own = result == 0 ? mark(context, stream) : -result;
      context.spareStreams.give(stream);
    }
    backend.cuCtxSetCurrent(state.current.handle);
    if (own < 0) {
      state.reply(tag, (int) -own);
    } else {
      fence(context, tag, own);
    }
  }

  private void gather(long stream) {
    int result = state.backend.cuStreamQuery(stream);
    if (result == CudaResult.NOT_READY) {
      long event = mark(stream);
      if (event > 0) {
        if (gatheredCount == gathered.length) {
          gathered = Arrays.copyOf(gathered, gatheredCount * 2);
        }
        gathered[gatheredCount++] = event;
        return;
      }
      result = (int) -event;
    }
    if (gatheredResult == 0) {
      gatheredResult = result;
    }
  }

  /** An event of the session's own at the present end of a stream; or a CUresult, negated. */
  private long mark(long stream) {
    return mark(state.current, stream);
  }

  private long mark(ContextState context, long stream) {
    long event = context.events.take();
    if (event > 0) {
      int result = state.backend.cuEventRecord(event, stream);
      if (result != 0) {
        context.events.give(event);
        return -result;
      }
    }
    return event;
  }

  private void fence(ContextState context, int tag, long... events) {
    if (state.waits.size() >= SessionState.MAX_WAITS) {
      for (long event : events) {
        context.events.give(event);
      }
      state.reply(tag, CudaResult.OUT_OF_MEMORY);
      return;
    }
    state.waits.add(
        new FenceWait(
            context, state.backend, state.answers, tag, state.waits.driverPrints(), events));
  }

  private void answer(int tag, int result) {
    if (result == CudaResult.NOT_READY) {
      state.answers.reply(tag, result);
    } else {
      state.replyComplete(tag, result);
    }
  }
}
