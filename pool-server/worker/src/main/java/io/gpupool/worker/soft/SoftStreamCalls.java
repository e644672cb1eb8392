// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker.soft;

import io.gpupool.soft.CudaStatus;
import io.gpupool.soft.GpuException;
import io.gpupool.soft.device.SoftContext;
import io.gpupool.soft.device.SoftEvent;
import io.gpupool.soft.device.SoftStream;
import io.gpupool.soft.device.work.Completion;
import io.gpupool.worker.os.Memory;

/** Driver calls about streams and events. */
interface SoftStreamCalls extends SoftCalls {
  @Override
  default int cuStreamCreateWithPriority(long stream, int flags, int priority) {
    return call(() -> {
      SoftStream created = context().createStream(flags, priority);
      Memory.putLong(stream, state().handles().add(created));
    });
  }

  @Override
  default int cuStreamDestroy_v2(long stream) {
    return call(() -> {
      SoftStream gone = state().handles().remove(stream, SoftStream.class);
      gone.destroy();
      gone.context().requireUsable();
    });
  }

  @Override
  default int cuStreamQuery(long stream) {
    return query(() -> {
      SoftStream target = stream(stream);
      return statusOf(target.context(), target.completion());
    });
  }

  @Override
  default int cuStreamSynchronize(long stream) {
    return call(() -> {
      SoftStream target = stream(stream);
      target.context().requireUsable();
      Waiting.await(target.completion());
      target.context().requireUsable();
    });
  }

  @Override
  default int cuStreamWaitEvent(long stream, long event, int flags) {
    return call(() -> stream(stream).waitFor(event(event)));
  }

  @Override
  default int cuStreamBatchMemOp_v2(long stream, int count, long operations, int flags) {
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

  @Override
  default int launchHostTask(long stream, boolean evenAfterFault, HostTask task) {
    return call(() ->
        stream(stream).callHost((status, done) -> task.start(status.code(), done), evenAfterFault));
  }

  @Override
  default int cuEventCreate(long event, int flags) {
    return call(() -> Memory.putLong(event, state().handles().add(context().createEvent(flags))));
  }

  @Override
  default int cuEventDestroy_v2(long event) {
    return call(() -> {
      SoftEvent gone = state().handles().remove(event, SoftEvent.class);
      gone.destroy();
      gone.context().requireUsable();
    });
  }

  @Override
  default int cuEventRecord(long event, long stream) {
    return call(() -> stream(stream).record(event(event)));
  }

  @Override
  default int cuEventRecordWithFlags(long event, long stream, int flags) {
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
  default int cuEventQuery(long event) {
    return query(() -> {
      SoftEvent target = event(event);
      return statusOf(target.context(), target.completion());
    });
  }

  @Override
  default int cuEventSynchronize(long event) {
    return call(() -> {
      SoftEvent target = event(event);
      target.context().requireUsable();
      Waiting.await(target.completion());
      target.context().requireUsable();
    });
  }

  @Override
  default int cuEventElapsedTime(long milliseconds, long start, long end) {
    return call(() -> {
      float elapsed = SoftEvent.elapsedMillis(event(start), event(end));
      Memory.putInt(milliseconds, Float.floatToRawIntBits(elapsed));
    });
  }

  @Override
  default int cuEventElapsedTime_v2(long milliseconds, long start, long end) {
    return cuEventElapsedTime(milliseconds, start, end);
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
