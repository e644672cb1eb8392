// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker.nvidia;

import com.google.errorprone.annotations.concurrent.GuardedBy;
import io.gpupool.cuda.DriverAddresses;
import io.gpupool.cuda.DriverTime;
import io.gpupool.cuda.Relocation;
import io.gpupool.nccl.LibNccl;
import io.gpupool.nccl.NcclException;
import io.gpupool.nccl.NcclSearch;
import io.gpupool.worker.nvidia.CostTable.Kind;
import io.gpupool.worker.os.Memory;
import java.util.List;
import java.util.Optional;
import java.util.function.IntSupplier;
import org.jspecify.annotations.Nullable;

/**
 * GPUs of NVIDIA's driver, as a session uses them: whatever takes a GPU's time goes through the
 * {@link GpuGate} of that GPU.
 */
public final class NvidiaGpus extends NvidiaEvents {
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

  private final boolean timeSliced;
  private final @Nullable Relocation relocation;
  private final String libnccl;

  @GuardedBy("this")
  private @Nullable LibNccl nccl;

  /**
   * How the driver is used.
   *
   * @param timeSliced whether the leases of a GPU take time slices; if not, the driver shares it
   *     out
   * @param inFlightBoundNanos how long the work of one may take that is under way while another
   *     waits
   * @param libnvml the driver's management library: a path, or a name for the dynamic linker
   * @param contextBytes memory that a context takes by itself, as far as it is known
   * @param movable whether sessions may move: their memory is at addresses of their own
   * @param libnccl where NCCL is: a path, or one of the words of {@link NcclSearch}
   */
  public record Options(
      boolean timeSliced,
      long inFlightBoundNanos,
      String libnvml,
      long contextBytes,
      boolean movable,
      String libnccl) {}

  /** Makes the backend. */
  public NvidiaGpus(Options options) {
    super(options.libnvml, options.contextBytes, GpuGate.Limits.of(options.inFlightBoundNanos));
    timeSliced = options.timeSliced;
    libnccl = options.libnccl;
    relocation = options.movable ? new NvidiaRelocation(this) : null;
  }

  @Override
  public Optional<Relocation> relocation() {
    return Optional.ofNullable(relocation);
  }

  @Override
  public boolean moveTo(int slot, List<Integer> gpus) {
    // The driver maps device memory below what is taken when it makes a context.
    DriverAddresses.reserve(slot);
    // The sessions of a program on several servers do not move.
    if (relocation != null && slot == 0) {
      place(gpus);
    }
    return true;
  }

  @Override
  public boolean share(int gpu, DriverTime time) {
    if (timeSliced) {
      setTime(gpu, time);
    }
    return timeSliced;
  }

  @Override
  public boolean carriesOutCollectives() {
    return NcclSearch.isPlace(libnccl);
  }

  @Override
  public synchronized LibNccl nccl() throws NcclException {
    if (nccl == null) {
      nccl = NcclSearch.load(libnccl).functions();
    }
    return nccl;
  }

  // Work

  @Override
  public int submit(long stream, long lengthBytes, IntSupplier work) {
    Passage passage = enter(stream, lengthKey(Kind.COLLECTIVE, lengthBytes));
    return exit(passage, work.getAsInt());
  }

  /** Waits until work may be submitted; null if there is no gate before it. */
  private @Nullable Passage enter(long stream, long key) {
    Current mine = current();
    // Without time slices, too, no more is submitted behind a host function than the driver takes.
    GpuGate gate = mine.gate;
    if (gate == null || !timeSliced && !caller().hasHostFunctions()) {
      return null;
    }
    return gate.enter(mine.context, stream, key);
  }

  private static int exit(@Nullable Passage passage, int result) {
    if (passage != null) {
      passage.exit(result);
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
    Passage passage = enter(hStream, key);
    return exit(
        passage,
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
    Passage passage = enter(hStream, key);
    return exit(
        passage,
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
    Passage passage = enter(Memory.getLong(config + CONFIG_STREAM), key);
    return exit(passage, super.cuLaunchKernelEx(config, f, kernelParams, extra));
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
    Passage passage = enter(hStream, CostTable.mix(CostTable.key(Kind.GRAPH), hGraphExec));
    return exit(passage, super.cuGraphLaunch(hGraphExec, hStream));
  }

  @Override
  public int cuGraphUpload(long hGraphExec, long hStream) {
    Passage passage = enter(hStream, CostTable.mix(CostTable.key(Kind.GRAPH_UPLOAD), hGraphExec));
    return exit(passage, super.cuGraphUpload(hGraphExec, hStream));
  }

  @Override
  public int cuMemcpyHtoD_v2(long dstDevice, long srcHost, long ByteCount) {
    Passage passage = enter(0, lengthKey(Kind.TO_DEVICE, ByteCount));
    return exit(passage, super.cuMemcpyHtoD_v2(dstDevice, srcHost, ByteCount));
  }

  @Override
  public int cuMemcpyDtoH_v2(long dstHost, long srcDevice, long ByteCount) {
    Passage passage = enter(0, lengthKey(Kind.TO_HOST, ByteCount));
    return exit(passage, super.cuMemcpyDtoH_v2(dstHost, srcDevice, ByteCount));
  }

  @Override
  public int cuMemcpyHtoDAsync_v2(long dstDevice, long srcHost, long ByteCount, long hStream) {
    Passage passage = enter(hStream, lengthKey(Kind.TO_DEVICE, ByteCount));
    return exit(passage, super.cuMemcpyHtoDAsync_v2(dstDevice, srcHost, ByteCount, hStream));
  }

  @Override
  public int cuMemcpyDtoHAsync_v2(long dstHost, long srcDevice, long ByteCount, long hStream) {
    Passage passage = enter(hStream, lengthKey(Kind.TO_HOST, ByteCount));
    return exit(passage, super.cuMemcpyDtoHAsync_v2(dstHost, srcDevice, ByteCount, hStream));
  }

  @Override
  public int cuMemcpyDtoDAsync_v2(long dstDevice, long srcDevice, long ByteCount, long hStream) {
    Passage passage = enter(hStream, lengthKey(Kind.ON_DEVICE, ByteCount));
    return exit(passage, super.cuMemcpyDtoDAsync_v2(dstDevice, srcDevice, ByteCount, hStream));
  }

  @Override
  public int cuMemcpyPeerAsync(
      long dstDevice,
      long dstContext,
      long srcDevice,
      long srcContext,
      long ByteCount,
      long hStream) {
    Passage passage = enter(hStream, lengthKey(Kind.ON_DEVICE, ByteCount));
    return exit(
        passage,
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
    Passage passage = enter(hStream, lengthKey(kind, lengthBytes));
    return exit(passage, super.cuMemcpy3DAsync_v2(pCopy, hStream));
  }

  @Override
  public int cuMemsetD8Async(long dstDevice, int uc, long N, long hStream) {
    Passage passage = enter(hStream, lengthKey(Kind.FILL, N));
    return exit(passage, super.cuMemsetD8Async(dstDevice, uc, N, hStream));
  }

  @Override
  public int cuMemsetD16Async(long dstDevice, int us, long N, long hStream) {
    Passage passage = enter(hStream, lengthKey(Kind.FILL, N * Short.BYTES));
    return exit(passage, super.cuMemsetD16Async(dstDevice, us, N, hStream));
  }

  @Override
  public int cuMemsetD32Async(long dstDevice, int ui, long N, long hStream) {
    Passage passage = enter(hStream, lengthKey(Kind.FILL, N * Integer.BYTES));
    return exit(passage, super.cuMemsetD32Async(dstDevice, ui, N, hStream));
  }

  @Override
  public int cuMemsetD2D8Async(
      long dstDevice, long dstPitch, int uc, long Width, long Height, long hStream) {
    Passage passage = enter(hStream, lengthKey(Kind.FILL, Width * Height));
    return exit(passage, super.cuMemsetD2D8Async(dstDevice, dstPitch, uc, Width, Height, hStream));
  }

  @Override
  public int cuMemsetD2D16Async(
      long dstDevice, long dstPitch, int us, long Width, long Height, long hStream) {
    Passage passage = enter(hStream, lengthKey(Kind.FILL, Width * Height * Short.BYTES));
    return exit(passage, super.cuMemsetD2D16Async(dstDevice, dstPitch, us, Width, Height, hStream));
  }

  @Override
  public int cuMemsetD2D32Async(
      long dstDevice, long dstPitch, int ui, long Width, long Height, long hStream) {
    Passage passage = enter(hStream, lengthKey(Kind.FILL, Width * Height * Integer.BYTES));
    return exit(passage, super.cuMemsetD2D32Async(dstDevice, dstPitch, ui, Width, Height, hStream));
  }
}
