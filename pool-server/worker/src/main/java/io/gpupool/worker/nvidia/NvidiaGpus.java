// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker.nvidia;

import io.gpupool.cuda.DriverAddresses;
import io.gpupool.cuda.DriverTime;
import io.gpupool.cuda.NvidiaBackend;
import io.gpupool.worker.nvidia.CostTable.Kind;
import io.gpupool.worker.os.Memory;
import java.lang.foreign.Arena;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;

/**
 * GPUs of NVIDIA's driver, as a session uses them: whatever takes a GPU's time goes through the
 * {@link GpuGate} of that GPU.
 */
public final class NvidiaGpus extends NvidiaBackend {
  /** CU_DEVICE_ATTRIBUTE_PAGEABLE_MEMORY_ACCESS, and _USES_HOST_PAGE_TABLES. */
  private static final int[] PAGEABLE_MEMORY = {88, 100};

  // CUlaunchConfig
  private static final int CONFIG_GRID_X = 0;
  private static final int CONFIG_GRID_Z = 8;
  private static final int CONFIG_BLOCK_Y = 16;
  private static final int CONFIG_SHARED_BYTES = 24;
  private static final int CONFIG_STREAM = 32;

  // CUDA_MEMCPY3D
  private static final int BOX_FROM_TYPE = 32;
  private static final int BOX_TO_TYPE = 120;
  private static final int BOX_WIDTH_BYTES = 176;
  private static final int BOX_HEIGHT = 184;
  private static final int BOX_DEPTH = 192;
  private static final int TYPE_HOST = 1;

  private final boolean takesTurns;
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

  /**
   * Makes the backend.
   *
   * @param takesTurns whether the leases of a GPU take turns; if not, the driver shares it out
   */
  public NvidiaGpus(boolean takesTurns) {
    this.takesTurns = takesTurns;
  }

  /** The calling thread's context. */
  private static final class Current {
    long context;
    GpuGate gate;
  }

  @Override
  public boolean moveTo(int slot, List<Integer> gpus) {
    // The driver maps device memory below what is taken when it makes a context.
    DriverAddresses.reserve(slot);
    return true;
  }

  @Override
  public boolean share(int gpu, DriverTime time) {
    if (takesTurns) {
      times.put(gpu, time);
    }
    return takesTurns;
  }

  @Override
  public void setCaller(Caller newCaller) {
    caller = newCaller;
  }

  // Contexts

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
                      gpu,
                      times.getOrDefault(gpu, DriverTime.UNSHARED),
                      events,
                      caller,
                      GpuGate.Limits.USUAL));
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
      gate.contextEnds(context);
    }
  }

  // Places in streams

  @Override
  public int cuStreamDestroy_v2(long hStream) {
    gates.values().forEach(gate -> gate.streamEnds(hStream));
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

  // Work

  /** Waits until work may be submitted; the gate that it went through, if there is one. */
  private GpuGate enter(long stream, long key) {
    Current mine = current.get();
    // Without turns, too, no more is submitted behind a host function than the driver takes.
    if (mine.gate == null || !takesTurns && !caller.hasHostFunctions()) {
      return null;
    }
    mine.gate.enter(mine.context, stream, key);
    return mine.gate;
  }

  private static int exit(GpuGate gate, int result) {
    if (gate != null) {
      gate.exit(result);
    }
    return result;
  }

  /** Of copies and fills whose lengths are alike. */
  private static long lengthKey(Kind kind, long lengthBytes) {
    return CostTable.mix(CostTable.key(kind), Long.numberOfLeadingZeros(lengthBytes));
  }

  @Override
  public int cuLaunchKernel(
      long f,
      int gridDimX,
      int gridDimY,
      int gridDimZ,
      int blockDimX,
      int blockDimY,
      int blockDimZ,
      int sharedMemBytes,
      long hStream,
      long kernelParams,
      long extra) {
    long key =
        kernelKey(f, gridDimX, gridDimY, gridDimZ, blockDimX, blockDimY, blockDimZ, sharedMemBytes);
    GpuGate gate = enter(hStream, key);
    return exit(
        gate,
        super.cuLaunchKernel(
            f,
            gridDimX,
            gridDimY,
            gridDimZ,
            blockDimX,
            blockDimY,
            blockDimZ,
            sharedMemBytes,
            hStream,
            kernelParams,
            extra));
  }

  @Override
  public int cuLaunchCooperativeKernel(
      long f,
      int gridDimX,
      int gridDimY,
      int gridDimZ,
      int blockDimX,
      int blockDimY,
      int blockDimZ,
      int sharedMemBytes,
      long hStream,
      long kernelParams) {
    long key =
        kernelKey(f, gridDimX, gridDimY, gridDimZ, blockDimX, blockDimY, blockDimZ, sharedMemBytes);
    GpuGate gate = enter(hStream, key);
    return exit(
        gate,
        super.cuLaunchCooperativeKernel(
            f,
            gridDimX,
            gridDimY,
            gridDimZ,
            blockDimX,
            blockDimY,
            blockDimZ,
            sharedMemBytes,
            hStream,
            kernelParams));
  }

  @Override
  public int cuLaunchKernelEx(long config, long f, long kernelParams, long extra) {
    long key = CostTable.mix(CostTable.key(Kind.KERNEL), f);
    key = CostTable.mix(key, Memory.getLong(config + CONFIG_GRID_X));
    key = CostTable.mix(key, Memory.getLong(config + CONFIG_GRID_Z));
    key = CostTable.mix(key, Memory.getLong(config + CONFIG_BLOCK_Y));
    key = CostTable.mix(key, Memory.getInt(config + CONFIG_SHARED_BYTES));
    GpuGate gate = enter(Memory.getLong(config + CONFIG_STREAM), key);
    return exit(gate, super.cuLaunchKernelEx(config, f, kernelParams, extra));
  }

  private static long kernelKey(
      long function,
      int gridX,
      int gridY,
      int gridZ,
      int blockX,
      int blockY,
      int blockZ,
      int sharedBytes) {
    long key = CostTable.mix(CostTable.key(Kind.KERNEL), function);
    key = CostTable.mix(key, both(gridX, gridY));
    key = CostTable.mix(key, both(gridZ, blockX));
    key = CostTable.mix(key, both(blockY, blockZ));
    return CostTable.mix(key, sharedBytes);
  }

  private static long both(int low, int high) {
    return Integer.toUnsignedLong(low) | (long) high << Integer.SIZE;
  }

  @Override
  public int cuGraphLaunch(long hGraphExec, long hStream) {
    GpuGate gate = enter(hStream, CostTable.mix(CostTable.key(Kind.GRAPH), hGraphExec));
    return exit(gate, super.cuGraphLaunch(hGraphExec, hStream));
  }

  @Override
  public int cuGraphUpload(long hGraphExec, long hStream) {
    GpuGate gate = enter(hStream, CostTable.mix(CostTable.key(Kind.GRAPH_UPLOAD), hGraphExec));
    return exit(gate, super.cuGraphUpload(hGraphExec, hStream));
  }

  @Override
  public int cuMemcpyHtoD_v2(long dstDevice, long srcHost, long ByteCount) {
    GpuGate gate = enter(0, lengthKey(Kind.TO_DEVICE, ByteCount));
    return exit(gate, super.cuMemcpyHtoD_v2(dstDevice, srcHost, ByteCount));
  }

  @Override
  public int cuMemcpyDtoH_v2(long dstHost, long srcDevice, long ByteCount) {
    GpuGate gate = enter(0, lengthKey(Kind.TO_HOST, ByteCount));
    return exit(gate, super.cuMemcpyDtoH_v2(dstHost, srcDevice, ByteCount));
  }

  @Override
  public int cuMemcpyHtoDAsync_v2(long dstDevice, long srcHost, long ByteCount, long hStream) {
    GpuGate gate = enter(hStream, lengthKey(Kind.TO_DEVICE, ByteCount));
    return exit(gate, super.cuMemcpyHtoDAsync_v2(dstDevice, srcHost, ByteCount, hStream));
  }

  @Override
  public int cuMemcpyDtoHAsync_v2(long dstHost, long srcDevice, long ByteCount, long hStream) {
    GpuGate gate = enter(hStream, lengthKey(Kind.TO_HOST, ByteCount));
    return exit(gate, super.cuMemcpyDtoHAsync_v2(dstHost, srcDevice, ByteCount, hStream));
  }

  @Override
  public int cuMemcpyDtoDAsync_v2(long dstDevice, long srcDevice, long ByteCount, long hStream) {
    GpuGate gate = enter(hStream, lengthKey(Kind.ON_DEVICE, ByteCount));
    return exit(gate, super.cuMemcpyDtoDAsync_v2(dstDevice, srcDevice, ByteCount, hStream));
  }

  @Override
  public int cuMemcpyPeerAsync(
      long dstDevice,
      long dstContext,
      long srcDevice,
      long srcContext,
      long ByteCount,
      long hStream) {
    GpuGate gate = enter(hStream, lengthKey(Kind.ON_DEVICE, ByteCount));
    return exit(
        gate,
        super.cuMemcpyPeerAsync(dstDevice, dstContext, srcDevice, srcContext, ByteCount, hStream));
  }

  @Override
  public int cuMemcpy3DAsync_v2(long pCopy, long hStream) {
    long lengthBytes =
        Memory.getLong(pCopy + BOX_WIDTH_BYTES)
            * Memory.getLong(pCopy + BOX_HEIGHT)
            * Memory.getLong(pCopy + BOX_DEPTH);
    Kind kind =
        Memory.getInt(pCopy + BOX_FROM_TYPE) == TYPE_HOST
            ? Kind.TO_DEVICE
            : Memory.getInt(pCopy + BOX_TO_TYPE) == TYPE_HOST ? Kind.TO_HOST : Kind.ON_DEVICE;
    GpuGate gate = enter(hStream, lengthKey(kind, lengthBytes));
    return exit(gate, super.cuMemcpy3DAsync_v2(pCopy, hStream));
  }

  @Override
  public int cuMemsetD8Async(long dstDevice, int uc, long N, long hStream) {
    GpuGate gate = enter(hStream, lengthKey(Kind.FILL, N));
    return exit(gate, super.cuMemsetD8Async(dstDevice, uc, N, hStream));
  }

  @Override
  public int cuMemsetD16Async(long dstDevice, int us, long N, long hStream) {
    GpuGate gate = enter(hStream, lengthKey(Kind.FILL, N * Short.BYTES));
    return exit(gate, super.cuMemsetD16Async(dstDevice, us, N, hStream));
  }

  @Override
  public int cuMemsetD32Async(long dstDevice, int ui, long N, long hStream) {
    GpuGate gate = enter(hStream, lengthKey(Kind.FILL, N * Integer.BYTES));
    return exit(gate, super.cuMemsetD32Async(dstDevice, ui, N, hStream));
  }

  @Override
  public int cuMemsetD2D8Async(
      long dstDevice, long dstPitch, int uc, long Width, long Height, long hStream) {
    GpuGate gate = enter(hStream, lengthKey(Kind.FILL, Width * Height));
    return exit(gate, super.cuMemsetD2D8Async(dstDevice, dstPitch, uc, Width, Height, hStream));
  }

  @Override
  public int cuMemsetD2D16Async(
      long dstDevice, long dstPitch, int us, long Width, long Height, long hStream) {
    GpuGate gate = enter(hStream, lengthKey(Kind.FILL, Width * Height * Short.BYTES));
    return exit(gate, super.cuMemsetD2D16Async(dstDevice, dstPitch, us, Width, Height, hStream));
  }

  @Override
  public int cuMemsetD2D32Async(
      long dstDevice, long dstPitch, int ui, long Width, long Height, long hStream) {
    GpuGate gate = enter(hStream, lengthKey(Kind.FILL, Width * Height * Integer.BYTES));
    return exit(gate, super.cuMemsetD2D32Async(dstDevice, dstPitch, ui, Width, Height, hStream));
  }

  /**
   * Nothing where a GPU reads pageable memory by itself, through the host's page tables or by
   * faults: the driver then may not have read the source when a copy returns.
   */
  @Override
  public long sourceReadAtOnceBytes() {
    return readsPageableMemory() ? 0 : super.sourceReadAtOnceBytes();
  }

  private boolean readsPageableMemory() {
    try (Arena arena = Arena.ofConfined()) {
      long out = arena.allocate(8, 8).address();
      int count = cuDeviceGetCount(out) == 0 ? Memory.getInt(out) : 0;
      for (int ordinal = 0; ordinal < count; ordinal++) {
        int device = cuDeviceGet(out, ordinal) == 0 ? Memory.getInt(out) : -1;
        for (int attribute : PAGEABLE_MEMORY) {
          if (cuDeviceGetAttribute(out, attribute, device) == 0 && Memory.getInt(out) != 0) {
            return true;
          }
        }
      }
      return false;
    }
  }
}
