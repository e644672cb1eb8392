// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker.soft.context;

import io.gpupool.cuda.Backend;
import io.gpupool.cuda.CudaResult;
import io.gpupool.cuda.StreamCalls;
import io.gpupool.soft.CudaStatus;
import io.gpupool.soft.GpuException;
import io.gpupool.soft.device.context.SoftContext;
import io.gpupool.soft.device.context.SoftEvent;
import io.gpupool.soft.device.context.SoftStream;
import io.gpupool.soft.device.work.Completion;
import io.gpupool.worker.os.Memory;
import io.gpupool.worker.soft.state.SoftCalls;
import io.gpupool.worker.soft.state.SoftState;
import io.gpupool.worker.soft.state.Waiting;

/** Driver calls about streams and events. */
public final class SoftStreamCalls extends SoftCalls implements StreamCalls {
  public SoftStreamCalls(SoftState state) {
    super(state);
  }

  @Override
  public int cuStreamCreateWithPriority(long stream, int flags, int priority) {
    return call(() -> {
      SoftStream created = context().createStream(flags, priority);
      Memory.putLong(stream, state().handles().add(created));
    });
  }

  @Override
  public int cuStreamDestroy_v2(long stream) {
    return call(() -> {
      SoftStream gone = state().handles().remove(stream, SoftStream.class);
      gone.destroy();
      gone.context().requireUsable();
    });
  }

  @Override
  public int cuStreamQuery(long stream) {
    return query(() -> {
      SoftStream target = stream(stream);
      return statusOf(target.context(), target.completion());
    });
  }

  @Override
  public int cuStreamSynchronize(long stream) {
    return call(() -> {
      SoftStream target = stream(stream);
      target.context().requireUsable();
      Waiting.await(target.completion());
      target.context().requireUsable();
    });
  }

  @Override
  public int cuStreamWaitEvent(long stream, long event, int flags) {
    return call(() -> stream(stream).waitFor(event(event)));
  }

  @Override
  public int cuStreamBatchMemOp_v2(long stream, int count, long operations, int flags) {
    return call(() -> {
      SoftStream target = stream(stream);
      if (flags != 0) {
        throw new GpuException(CudaStatus.INVALID_VALUE, "batch flags " + flags);
      }
      for (int index = 0; index < count; index++) {
        StreamMemoryOperation.read(operations, index).submit(target);
      }
    });
  }

  public int launchHostTask(long stream, boolean evenAfterFault, Backend.HostTask task) {
    return call(() ->
        stream(stream).callHost((status, done) -> task.start(status.code(), done), evenAfterFault));
  }

  @Override
  public int cuEventCreate(long event, int flags) {
    return call(() -> Memory.putLong(event, state().handles().add(context().createEvent(flags))));
  }

  @Override
  public int cuEventDestroy_v2(long event) {
    return call(() -> {
      SoftEvent gone = state().handles().remove(event, SoftEvent.class);
      gone.destroy();
      gone.context().requireUsable();
    });
  }

  @Override
  public int cuEventRecord(long event, long stream) {
    return call(() -> stream(stream).record(event(event)));
  }

  @Override
  public int cuEventRecordWithFlags(long event, long stream, int flags) {
    if (flags == 0) {
      return cuEventRecord(event, stream);
    }
    // The external flag has a meaning in graphs only.
    return call(() -> {
      throw new GpuException(
          flags == 1 ? CudaStatus.NOT_SUPPORTED : CudaStatus.INVALID_VALUE,
          "event record flags " + flags);
    });
  }

  @Override
  public int cuEventQuery(long event) {
    return query(() -> {
      SoftEvent target = event(event);
      return statusOf(target.context(), target.completion());
    });
  }

  @Override
  public int cuEventSynchronize(long event) {
    return call(() -> {
      SoftEvent target = event(event);
      target.context().requireUsable();
      Waiting.await(target.completion());
      target.context().requireUsable();
    });
  }

  @Override
  public int cuEventElapsedTime(long milliseconds, long start, long end) {
    return call(() -> {
      float elapsed = SoftEvent.elapsedMillis(event(start), event(end));
      Memory.putInt(milliseconds, Float.floatToRawIntBits(elapsed));
    });
  }

  @Override
  public int cuEventElapsedTime_v2(long milliseconds, long start, long end) {
    return cuEventElapsedTime(milliseconds, start, end);
  }

  /** Not supported: sessions use {@link #launchHostTask}. */
  @Override
  public int cuStreamAddCallback(long stream, long callback, long userData, int flags) {
    return CudaResult.NOT_SUPPORTED;
  }

  /** Runs an action once a stream has come to where it ends now. */
  public void afterStream(long stream, Runnable action) {
    stream(stream).completion().whenDone(action);
  }

  private static CudaStatus statusOf(SoftContext context, Completion completion) {
    context.requireUsable();
    if (!completion.isDone()) {
      return CudaStatus.NOT_READY;
    }
    // What is over may have ended with a fault.
    context.requireUsable();
    return CudaStatus.SUCCESS;
  }

  private SoftEvent event(long handle) {
    return state().handles().get(handle, SoftEvent.class);
  }
}
