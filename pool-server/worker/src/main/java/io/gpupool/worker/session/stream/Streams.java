// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker.session.stream;

import io.gpupool.cuda.Backend;
import io.gpupool.cuda.CudaResult;
import io.gpupool.cuda.SessionServices;
import io.gpupool.cuda.StreamOps;
import io.gpupool.cuda.WireStruct;
import io.gpupool.worker.os.Memory;
import io.gpupool.worker.session.call.CurrentCall;
import io.gpupool.worker.session.call.FenceWait;
import io.gpupool.worker.session.call.Waits;
import io.gpupool.worker.session.core.Answers;
import io.gpupool.worker.session.core.ContextState;
import io.gpupool.worker.session.core.HandleTable;
import io.gpupool.worker.session.core.HandleTables;
import io.gpupool.worker.session.exchange.Exchange;
import io.gpupool.worker.session.exchange.Exports;
import io.gpupool.worker.session.quota.OwnedMemory;
import java.lang.foreign.Arena;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.function.IntSupplier;

/** Streams, events and the calls that wait for them. Used by the session's thread alone. */
public final class Streams implements StreamOps {

  private final Backend backend;
  private final CurrentCall call;
  private final HandleTables handles;
  private final Answers answers;
  private final Waits waits;
  private final OwnedMemory owned;
  private final Exports exports;
  private long[] gathered = new long[8];
  private int gatheredCount;
  private int gatheredResult;

  public Streams(
      Backend backend,
      CurrentCall call,
      HandleTables handles,
      Answers answers,
      Waits waits,
      OwnedMemory owned,
      Exports exports) {
    this.backend = backend;
    this.call = call;
    this.handles = handles;
    this.answers = answers;
    this.waits = waits;
    this.owned = owned;
    this.exports = exports;
  }

  @Override
  public int streamCreate(int stream, int flags, int priority) {
    int refused =
        call.context().exists() ? handles.streams().check(stream) : CudaResult.INVALID_CONTEXT;
    if (refused != 0) {
      return refused;
    }
    long out = call.out();
    int result = backend.cuStreamCreateWithPriority(out, flags, priority);
    if (result == 0) {
      handles.streams().put(stream, Memory.getLong(out), call.context());
    }
    return result;
  }

  @Override
  public int streamDestroy(int stream) {
    long handle = handles.streams().get(stream);
    if (handle == SessionServices.NO_HANDLE) {
      return CudaResult.INVALID_HANDLE;
    }
    handles.streams().remove(stream);
    return backend.cuStreamDestroy_v2(handle);
  }

  @Override
  public void streamQuery(int tag, int stream) {
    long handle = handles.stream(stream);
    if (handle == SessionServices.NO_HANDLE) {
      call.reply(tag, CudaResult.INVALID_HANDLE);
      return;
    }
    answer(tag, backend.cuStreamQuery(handle));
  }

  @Override
  public void streamSynchronize(int tag, int stream) {
    ContextState context = call.context();
    long handle = handles.stream(stream);
    int refused = context.exists() ? HandleTable.found(handle) : CudaResult.INVALID_CONTEXT;
    if (refused != 0) {
      call.reply(tag, refused);
      return;
    }
    int result = backend.cuStreamQuery(handle);
    if (result == 0 && waits.driverPrints()) {
      // Nothing is left to wait for, and only this thread adds work.
      result = backend.cuStreamSynchronize(handle);
    }
    if (result != CudaResult.NOT_READY) {
      answer(tag, result);
      return;
    }
    long event = mark(handle);
    if (event < 0) {
      call.reply(tag, (int) -event);
    } else {
      fence(context, tag, event);
    }
  }

  @Override
  public void ctxSynchronize(int tag) {
    ContextState context = call.context();
    if (!context.exists()) {
      call.reply(tag, CudaResult.INVALID_CONTEXT);
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
      if (gatheredResult == 0 && waits.driverPrints()) {
        gatheredResult = backend.cuCtxSynchronize();
      }
      answer(tag, gatheredResult);
    } else {
      fence(context, tag, Arrays.copyOf(gathered, gatheredCount));
    }
  }

  @Override
  public int streamWaitEvent(int stream, int event, int flags) {
    long streamHandle = handles.stream(stream);
    long eventHandle = handles.events().get(event);
    if (streamHandle == SessionServices.NO_HANDLE || eventHandle == SessionServices.NO_HANDLE) {
      return CudaResult.INVALID_HANDLE;
    }
    return backend.cuStreamWaitEvent(streamHandle, eventHandle, flags);
  }

  @Override
  public int eventCreate(int event, int flags) {
    int refused =
        call.context().exists() ? handles.events().check(event) : CudaResult.INVALID_CONTEXT;
    if (refused != 0) {
      return refused;
    }
    long out = call.out();
    int result = backend.cuEventCreate(out, flags);
    if (result == 0) {
      handles.events().put(event, Memory.getLong(out), call.context());
    }
    return result;
  }

  @Override
  public int eventDestroy(int event) {
    long handle = handles.events().get(event);
    if (handle == SessionServices.NO_HANDLE) {
      return CudaResult.INVALID_HANDLE;
    }
    handles.events().remove(event);
    exports.withdraw(Exchange.Kind.EVENT, event, () -> {});
    return backend.cuEventDestroy_v2(handle);
  }

  @Override
  public int eventRecord(int event, int stream, int flags) {
    long streamHandle = handles.stream(stream);
    long eventHandle = handles.events().get(event);
    if (streamHandle == SessionServices.NO_HANDLE || eventHandle == SessionServices.NO_HANDLE) {
      return CudaResult.INVALID_HANDLE;
    }
    return flags == 0
        ? backend.cuEventRecord(eventHandle, streamHandle)
        : backend.cuEventRecordWithFlags(eventHandle, streamHandle, flags);
  }

  /** Puts memory operations into a stream: all of them, or none if one is not the session's. */
  @Override
  public int streamMemoryOperations(int stream, WireStruct operations) {
    long handle = handles.stream(stream);
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
        int refused = MemoryOperations.write(owned, operations, i, to);
        if (refused != 0) {
          return refused;
        }
      }
      return backend.cuStreamBatchMemOp_v2(handle, count, params, 0);
    }
  }

  /** Records an event behind all that is in a context's streams. */
  @Override
  public int ctxRecordEvent(int event) {
    long eventHandle = handles.events().get(event);
    if (eventHandle == SessionServices.NO_HANDLE) {
      return CudaResult.INVALID_HANDLE;
    }
    long joining = call.context().spareStreams.take();
    if (joining < 0) {
      return (int) -joining;
    }
    int result = inEachPart(() -> join(joining, 0));
    for (long handle : handlesOf(call.context())) {
      result = result == 0 ? join(joining, handle) : result;
    }
    if (result == 0) {
      result = backend.cuEventRecord(eventHandle, joining);
    }
    call.context().spareStreams.give(joining);
    return result;
  }

  /** Makes all streams that a context has wait for an event. */
  @Override
  public int ctxWaitEvent(int event) {
    long eventHandle = handles.events().get(event);
    if (eventHandle == SessionServices.NO_HANDLE) {
      return CudaResult.INVALID_HANDLE;
    }
    int result = inEachPart(() -> backend.cuStreamWaitEvent(0, eventHandle, 0));
    for (long handle : handlesOf(call.context())) {
      result = result == 0 ? backend.cuStreamWaitEvent(handle, eventHandle, 0) : result;
    }
    return result;
  }

  private int join(long joining, long stream) {
    long event = mark(stream);
    if (event < 0) {
      return (int) -event;
    }
    int result = backend.cuStreamWaitEvent(joining, event, 0);
    call.context().events.give(event);
    return result;
  }

  /** Streams of a context and of the green ones that are part of it, default streams apart. */
  private List<Long> handlesOf(ContextState context) {
    List<Long> found = new ArrayList<>();
    handles.streams().forEachOwnedBy(context, (number, handle) -> found.add(handle));
    for (ContextState green : context.greens) {
      handles.streams().forEachOwnedBy(green, (number, handle) -> found.add(handle));
    }
    return found;
  }

  /**
   * Does something with stream 0 of the current context and of the green ones that are part of it.
   */
  private int inEachPart(IntSupplier step) {
    int result = step.getAsInt();
    for (ContextState green : call.context().greens) {
      backend.cuCtxSetCurrent(green.handle);
      result = result == 0 ? step.getAsInt() : result;
    }
    if (!call.context().greens.isEmpty()) {
      backend.cuCtxSetCurrent(call.context().handle);
    }
    return result;
  }

  @Override
  public void eventQuery(int tag, int event) {
    long handle = handles.events().get(event);
    if (handle == SessionServices.NO_HANDLE) {
      call.reply(tag, CudaResult.INVALID_HANDLE);
      return;
    }
    answer(tag, backend.cuEventQuery(handle));
  }

  @Override
  public void eventSynchronize(int tag, int event) {
    long handle = handles.events().get(event);
    if (handle == SessionServices.NO_HANDLE) {
      call.reply(tag, CudaResult.INVALID_HANDLE);
      return;
    }
    int result = backend.cuEventQuery(handle);
    if (result != CudaResult.NOT_READY) {
      answer(tag, result);
      return;
    }
    // The client may record or destroy its event meanwhile: what counts is where it is now, which
    // an
    // event of the session's own behind it, in a stream of its own, keeps.
    ContextState context = (ContextState) handles.events().ownerOf(event);
    backend.cuCtxSetCurrent(context.handle);
    long stream = context.spareStreams.take();
    long own = stream;
    if (stream > 0) {
      result = backend.cuStreamWaitEvent(stream, handle, 0);
      own = result == 0 ? mark(context, stream) : -result;
      context.spareStreams.give(stream);
    }
    backend.cuCtxSetCurrent(call.context().handle);
    if (own < 0) {
      call.reply(tag, (int) -own);
    } else {
      fence(context, tag, own);
    }
  }

  /**
   * Asks whether work of a context is under way.
   *
   * @return 0 if none is, NOT_READY if some is, or the CUresult for which there is no answer
   */
  public int query(ContextState context) {
    backend.cuCtxSetCurrent(context.handle);
    int result = 0;
    for (long handle : handlesOf(context)) {
      result = result == 0 ? backend.cuStreamQuery(handle) : result;
    }
    // Last: a driver may have other streams wait for what the legacy stream is asked.
    result = result == 0 ? backend.cuStreamQuery(0) : result;
    backend.cuCtxSetCurrent(call.context().handle);
    return result;
  }

  private void gather(long stream) {
    int result = backend.cuStreamQuery(stream);
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
    return mark(call.context(), stream);
  }

  private long mark(ContextState context, long stream) {
    long event = context.events.take();
    if (event > 0) {
      int result = backend.cuEventRecord(event, stream);
      if (result != 0) {
        context.events.give(event);
        return -result;
      }
    }
    return event;
  }

  private void fence(ContextState context, int tag, long... events) {
    if (waits.size() >= Waits.MAX_WAITS) {
      for (long event : events) {
        context.events.give(event);
      }
      call.reply(tag, CudaResult.OUT_OF_MEMORY);
      return;
    }
    waits.add(new FenceWait(context, backend, answers, tag, waits.driverPrints(), events));
  }

  private void answer(int tag, int result) {
    if (result == CudaResult.NOT_READY) {
      answers.reply(tag, result);
    } else {
      call.replyComplete(tag, result);
    }
  }
}
