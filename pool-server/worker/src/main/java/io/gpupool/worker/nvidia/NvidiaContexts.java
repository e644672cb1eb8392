// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker.nvidia;

import io.gpupool.cuda.DriverTime;
import io.gpupool.worker.os.Memory;
import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import org.jspecify.annotations.Nullable;

/** Contexts of NVIDIA's GPUs, which of them each thread uses, and the gate before each GPU. */
abstract class NvidiaContexts extends NvidiaMemory {
  private final GpuGate.Limits limits;
  private final Map<Integer, DriverTime> times = new HashMap<>();
  private final Map<Integer, GpuGate> gates = new ConcurrentHashMap<>();
  private final Map<Long, Integer> gpuOfContext = new ConcurrentHashMap<>();
  private final Map<Long, Integer> gpuOfGreen = new ConcurrentHashMap<>();
  private final DriverEvents events = new DriverEvents(this);
  private final ThreadLocal<Current> current = ThreadLocal.withInitial(Current::new);

  private Caller caller =
      new Caller() {
        @Override
        public boolean hasHostFunctions() {
          return false;
        }

        @Override
        public void lookAround() {}
      };

  NvidiaContexts(String libnvml, long contextBytes, GpuGate.Limits limits) {
    super(libnvml, contextBytes);
    this.limits = limits;
  }

  /** The calling thread's context. */
  static final class Current {
    long context;
    @Nullable GpuGate gate;
  }

  Current current() {
    return current.get();
  }

  /** Sets how the leases of a GPU share its time; called before it has a context. */
  final void setTime(int gpu, DriverTime time) {
    times.put(gpu, time);
  }

  @Override
  public void setCaller(Caller newCaller) {
    caller = newCaller;
  }

  final Caller caller() {
    return caller;
  }

  @Override
  public int cuDevicePrimaryCtxRetain(long pctx, int dev) {
    int result = super.cuDevicePrimaryCtxRetain(pctx, dev);
    return made(result, pctx, dev);
  }

  @Override
  public int cuCtxCreate_v2(long pctx, int flags, int dev) {
    int result = super.cuCtxCreate_v2(pctx, flags, dev);
    if (result == 0) {
      int ignored = made(result, pctx, dev);
      select(Memory.getLong(pctx));
    }
    return result;
  }

  @Override
  public int cuGreenCtxCreate(long phCtx, long desc, int dev, int flags) {
    int result = super.cuGreenCtxCreate(phCtx, desc, dev, flags);
    if (result == 0) {
      gpuOfGreen.put(Memory.getLong(phCtx), dev);
    }
    return result;
  }

  @Override
  public int cuCtxFromGreenCtx(long pContext, long hCtx) {
    int result = super.cuCtxFromGreenCtx(pContext, hCtx);
    Integer gpu = gpuOfGreen.get(hCtx);
    return gpu == null ? result : made(result, pContext, gpu);
  }

  private int made(int result, long context, int gpu) {
    if (result == 0) {
      gpuOfContext.put(Memory.getLong(context), gpu);
      GpuGate ignored =
          gates.computeIfAbsent(
              gpu,
              key ->
                  new GpuGate(
                      gpu, times.getOrDefault(gpu, DriverTime.UNSHARED), events, caller, limits));
    }
    return result;
  }

  @Override
  public int cuCtxSetCurrent(long ctx) {
    int result = super.cuCtxSetCurrent(ctx);
    if (result == 0) {
      select(ctx);
    }
    return result;
  }

  /** The context that is current in the calling thread. */
  long currentContext() {
    return current.get().context;
  }

  private void select(long context) {
    Current mine = current.get();
    mine.context = context;
    Integer gpu = gpuOfContext.get(context);
    mine.gate = gpu == null ? null : gates.get(gpu);
  }

  @Override
  public int cuCtxDestroy_v2(long ctx) {
    contextEnds(ctx);
    return super.cuCtxDestroy_v2(ctx);
  }

  @Override
  public int cuDevicePrimaryCtxReset_v2(int dev) {
    contextsEnd(dev);
    return super.cuDevicePrimaryCtxReset_v2(dev);
  }

  @Override
  public int cuDevicePrimaryCtxRelease_v2(int dev) {
    contextsEnd(dev);
    return super.cuDevicePrimaryCtxRelease_v2(dev);
  }

  @Override
  public int cuGreenCtxDestroy(long hCtx) {
    Integer gpu = gpuOfGreen.remove(hCtx);
    if (gpu != null) {
      contextsEnd(gpu);
    }
    return super.cuGreenCtxDestroy(hCtx);
  }

  /** Whichever it is: a gate that forgets what is under way measures less, and no more. */
  private void contextsEnd(int gpu) {
    gpuOfContext.forEach((context, of) -> {
      if (of == gpu) {
        contextEnds(context);
      }
    });
  }

  private void contextEnds(long context) {
    Integer gpu = gpuOfContext.get(context);
    GpuGate gate = gpu == null ? null : gates.get(gpu);
    if (gate != null) {
      gate.endContext(context);
    }
  }

  // Places in streams

  @Override
  public int cuStreamDestroy_v2(long hStream) {
    gates.values().forEach(gate -> gate.endStream(hStream));
    return super.cuStreamDestroy_v2(hStream);
  }

  @Override
  public int cuStreamQuery(long hStream) {
    look();
    return super.cuStreamQuery(hStream);
  }

  @Override
  public int cuEventRecord(long hEvent, long hStream) {
    look();
    return super.cuEventRecord(hEvent, hStream);
  }

  private void look() {
    GpuGate gate = current.get().gate;
    if (gate != null) {
      gate.look();
    }
  }

  /** Records an event of the gates' own. */
  int recordEvent(long event, long stream) {
    return super.cuEventRecord(event, stream);
  }
}
