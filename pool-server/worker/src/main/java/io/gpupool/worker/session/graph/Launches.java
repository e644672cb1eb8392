// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker.session.graph;

import io.gpupool.cuda.Backend;
import io.gpupool.cuda.ClusterRequest;
import io.gpupool.cuda.CudaResult;
import io.gpupool.cuda.Dispatcher;
import io.gpupool.cuda.LaunchAttributeId;
import io.gpupool.cuda.LaunchAttributeLayout;
import io.gpupool.cuda.LaunchConfigLayout;
import io.gpupool.cuda.LaunchFlag;
import io.gpupool.cuda.LaunchOps;
import io.gpupool.cuda.LaunchRequest;
import io.gpupool.cuda.SessionServices;
import io.gpupool.cuda.WireStruct;
import io.gpupool.worker.os.Memory;
import io.gpupool.worker.os.Posix;
import io.gpupool.worker.session.call.CurrentCall;
import io.gpupool.worker.session.core.HandleTables;
import io.gpupool.worker.session.quota.FirstLaunches;
import io.gpupool.worker.session.quota.OwnedMemory;

/** Kernel launches, the call that has to be cheap. Used by the session's thread alone. */
public final class Launches implements LaunchOps {
  private static final int ATTRIBUTE_BYTES = LaunchAttributeLayout.BYTES;
  private static final int MAX_ATTRIBUTES = 64;

  static final long PARAM_BUFFER_POINTER = 1;
  static final long PARAM_BUFFER_SIZE = 2;

  /** Grid and block, in requests as in CUlaunchConfig. */
  private static final int SHAPE_BYTES = LaunchConfigLayout.SHARED_MEM_BYTES;

  private static final int MEMORY_BYTES = 8192;

  private final CurrentCall call;
  private final HandleTables handles;
  private final OwnedMemory owned;
  private final FirstLaunches firstLaunches;
  private final Backend backend;
  private final long memory = Posix.map(MEMORY_BYTES);

  /** {@code void *extra[]}, made once but for the address of the parameters. */
  private final long extra = memory;

  private final long extraAddress = extra + 8;
  private final long paramBytes = memory + 48;
  private final long config = memory + 64;
  private final long attributes = memory + 64 + LaunchConfigLayout.BYTES;

  public Launches(
      Backend backend,
      CurrentCall call,
      HandleTables handles,
      OwnedMemory owned,
      FirstLaunches firstLaunches) {
    this.call = call;
    this.handles = handles;
    this.owned = owned;
    this.firstLaunches = firstLaunches;
    this.backend = backend;
    Memory.putLong(extra, PARAM_BUFFER_POINTER);
    Memory.putLong(extra + 16, PARAM_BUFFER_SIZE);
    Memory.putLong(extra + 24, paramBytes);
    Memory.putLong(extra + 32, 0);
  }

  @Override
  public int launch(long frame, int lengthBytes) {
    if (lengthBytes < LaunchRequest.BYTES) {
      return Dispatcher.MALFORMED;
    }
    int bytes = Memory.getInt(frame + LaunchRequest.PARAMETER_BYTES);
    int attributeCount = Memory.getInt(frame + LaunchRequest.ATTRIBUTE_COUNT);
    boolean inBounds =
        bytes >= 0 && bytes <= lengthBytes && attributeCount >= 0 && attributeCount <= lengthBytes;
    if (!inBounds
        || lengthBytes
            != LaunchRequest.BYTES
                + (long) ATTRIBUTE_BYTES * attributeCount
                + WireStruct.padded(bytes)) {
      return Dispatcher.MALFORMED;
    }
    int number = Memory.getInt(frame + LaunchRequest.FUNCTION);
    long function = handles.functions().get(number);
    long stream = handles.stream(Memory.getInt(frame + LaunchRequest.STREAM));
    if (function == SessionServices.NO_HANDLE || stream == SessionServices.NO_HANDLE) {
      return CudaResult.INVALID_HANDLE;
    }
    if (!firstLaunches.isFirst(number)) {
      return launch(frame, function, stream, attributeCount, bytes);
    }
    int refused = firstLaunches.admit(call.context(), number, function);
    if (refused != 0) {
      return refused;
    }
    int result = launch(frame, function, stream, attributeCount, bytes);
    firstLaunches.measure(call.context());
    return result;
  }

  private int launch(long frame, long function, long stream, int attributeCount, int bytes) {
    Memory.putLong(
        extraAddress, frame + LaunchRequest.BYTES + (long) ATTRIBUTE_BYTES * attributeCount);
    Memory.putLong(paramBytes, bytes);
    if (attributeCount != 0 || Memory.getInt(frame + LaunchRequest.FLAGS) != 0) {
      return launchWithAttributes(frame, function, stream, attributeCount);
    }
    return backend.cuLaunchKernel(
        function,
        Memory.getInt(frame + LaunchRequest.GRID),
        Memory.getInt(frame + LaunchRequest.GRID + 4),
        Memory.getInt(frame + LaunchRequest.GRID + 8),
        Memory.getInt(frame + LaunchRequest.BLOCK),
        Memory.getInt(frame + LaunchRequest.BLOCK + 4),
        Memory.getInt(frame + LaunchRequest.BLOCK + 8),
        Memory.getInt(frame + LaunchRequest.SHARED_BYTES),
        stream,
        0,
        extra);
  }

  public void release() {
    Posix.unmap(memory, MEMORY_BYTES);
  }

  @Override
  public void functionBlocks(
      int tag, int function, int blockSize, long sharedBytes, int flags, boolean valueWanted) {
    long handle = handles.functions().get(function);
    long out = call.out();
    int result =
        handle == SessionServices.NO_HANDLE
            ? CudaResult.INVALID_HANDLE
            : backend.cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(
                out, handle, blockSize, sharedBytes, flags);
    call.reply(tag, result, out, Long.BYTES);
  }

  /**
   * Answers how large a cluster of blocks may be, or how many run at once.
   *
   * @param source a {@link ClusterRequest} and its attributes
   */
  @Override
  public void functionClusters(
      int tag, int function, int active, WireStruct source, boolean valueWanted) {
    long handle = handles.functions().get(function);
    long lengthBytes = source.lengthBytes();
    int count =
        lengthBytes < ClusterRequest.BYTES ? -1 : source.i32(ClusterRequest.ATTRIBUTE_COUNT);
    int result =
        handle == SessionServices.NO_HANDLE
            ? CudaResult.INVALID_HANDLE
            : count < 0 || lengthBytes != ClusterRequest.BYTES + (long) ATTRIBUTE_BYTES * count
                ? CudaResult.INVALID_VALUE
                : putAttributes(source, ClusterRequest.BYTES, count);
    long out = call.out();
    if (result == 0) {
      putConfig(source, 0, source.i32(ClusterRequest.SHARED_BYTES), 0, count);
      result =
          active != 0
              ? backend.cuOccupancyMaxActiveClusters(out, handle, config)
              : backend.cuOccupancyMaxPotentialClusterSize(out, handle, config);
    }
    call.reply(tag, result, out, Long.BYTES);
  }

  private int launchWithAttributes(long frame, long function, long stream, int attributeCount) {
    int count = attributeCount;
    WireStruct request =
        WireStruct.at(frame, LaunchRequest.BYTES + (long) ATTRIBUTE_BYTES * attributeCount);
    int result = putAttributes(request, LaunchRequest.BYTES, attributeCount);
    if (result != 0) {
      return result;
    }
    if ((Memory.getInt(frame + LaunchRequest.FLAGS) & LaunchFlag.COOPERATIVE) != 0) {
      long target = attributes + (long) ATTRIBUTE_BYTES * count;
      Memory.clear(target, ATTRIBUTE_BYTES);
      Memory.putInt(target, LaunchAttributeId.COOPERATIVE);
      Memory.putInt(target + LaunchAttributeLayout.VALUE, 1);
      count++;
    }
    putConfig(request, LaunchRequest.GRID, request.i32(LaunchRequest.SHARED_BYTES), stream, count);
    return backend.cuLaunchKernelEx(config, function, 0, extra);
  }

  private void putConfig(
      WireStruct source, long shape, int sharedBytes, long stream, int attributeCount) {
    source.copyNumbers(shape, SHAPE_BYTES, config);
    Memory.putInt(config + LaunchConfigLayout.SHARED_MEM_BYTES, sharedBytes);
    Memory.putLong(config + LaunchConfigLayout.H_STREAM, stream);
    Memory.putLong(config + LaunchConfigLayout.ATTRS, attributes);
    Memory.putInt(config + LaunchConfigLayout.NUM_ATTRS, attributeCount);
  }

  /** Writes attributes to where the driver reads them. */
  private int putAttributes(WireStruct source, long first, int count) {
    if (count > MAX_ATTRIBUTES) {
      return CudaResult.INVALID_VALUE;
    }
    int result = CudaResult.SUCCESS;
    for (int i = 0; i < count && result == 0; i++) {
      long offset = (long) ATTRIBUTE_BYTES * i;
      result =
          LaunchAttribute.write(handles, owned, source, first + offset, true, attributes + offset);
    }
    return result;
  }
}
