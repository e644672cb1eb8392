// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker.session.graph;

import io.gpupool.cuda.Backend;
import io.gpupool.cuda.Dispatcher;
import io.gpupool.cuda.LaunchOps;
import io.gpupool.cuda.SessionServices;
import io.gpupool.cuda.WireStruct;
import io.gpupool.worker.os.Memory;
import io.gpupool.worker.os.Posix;
import io.gpupool.worker.session.call.CurrentCall;
import io.gpupool.worker.session.core.CudaResult;
import io.gpupool.worker.session.core.Frames;
import io.gpupool.worker.session.core.HandleTables;
import io.gpupool.worker.session.quota.FirstLaunches;
import io.gpupool.worker.session.quota.OwnedMemory;

/** Kernel launches, the call that has to be cheap. Used by the session's thread alone. */
public final class Launches implements LaunchOps {
  /*
   * Request, behind the header, u32 each: function, stream, grid x y z, block x y z, sharedBytes,
   * flags, paramBytes, attributeCount; then attributes of 72 bytes, as CUlaunchAttribute has them;
   * then the parameters, which the backend reads where they lie.
   */
  private static final int FUNCTION = 8;
  private static final int STREAM = 12;
  private static final int GRID = 16;
  private static final int BLOCK = 28;
  private static final int SHARED_BYTES = 40;
  private static final int FLAGS = 44;
  private static final int PARAM_BYTES = 48;
  private static final int ATTRIBUTE_COUNT = 52;
  private static final int FIXED_BYTES = 56;

  private static final int ATTRIBUTE_BYTES = LaunchAttribute.BYTES;
  private static final int MAX_ATTRIBUTES = 64;
  private static final int FLAG_COOPERATIVE = 1;

  static final long PARAM_BUFFER_POINTER = 1;
  static final long PARAM_BUFFER_SIZE = 2;

  // CUlaunchConfig
  private static final int CONFIG_SHARED_BYTES = 24;
  private static final int CONFIG_STREAM = 32;
  private static final int CONFIG_ATTRIBUTES = 40;
  private static final int CONFIG_ATTRIBUTE_COUNT = 48;
  private static final int CONFIG_BYTES = 56;

  /** Grid, block and shared bytes. */
  private static final int SHAPE_BYTES = 28;

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
  private final long attributes = memory + 64 + CONFIG_BYTES;

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
    if (lengthBytes < FIXED_BYTES) {
      return Dispatcher.MALFORMED;
    }
    int bytes = Memory.getInt(frame + PARAM_BYTES);
    int attributeCount = Memory.getInt(frame + ATTRIBUTE_COUNT);
    boolean inBounds =
        bytes >= 0 && bytes <= lengthBytes && attributeCount >= 0 && attributeCount <= lengthBytes;
    if (!inBounds
        || lengthBytes
            != FIXED_BYTES + (long) ATTRIBUTE_BYTES * attributeCount + Frames.padded(bytes)) {
      return Dispatcher.MALFORMED;
    }
    int number = Memory.getInt(frame + FUNCTION);
    long function = handles.functions().get(number);
    long stream = handles.stream(Memory.getInt(frame + STREAM));
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
    Memory.putLong(extraAddress, frame + FIXED_BYTES + (long) ATTRIBUTE_BYTES * attributeCount);
    Memory.putLong(paramBytes, bytes);
    if (attributeCount != 0 || Memory.getInt(frame + FLAGS) != 0) {
      return launchWithAttributes(frame, function, stream, attributeCount);
    }
    return backend.cuLaunchKernel(
        function,
        Memory.getInt(frame + GRID),
        Memory.getInt(frame + GRID + 4),
        Memory.getInt(frame + GRID + 8),
        Memory.getInt(frame + BLOCK),
        Memory.getInt(frame + BLOCK + 4),
        Memory.getInt(frame + BLOCK + 8),
        Memory.getInt(frame + SHARED_BYTES),
        stream,
        0,
        extra);
  }

  public void release() {
    Posix.unmap(memory, MEMORY_BYTES);
  }

  /**
   * Answers how large a cluster of blocks may be, or how many run at once.
   *
   * @param source u32 each grid x y z, block x y z, shared bytes, attribute count; then attributes
   */
  @Override
  public void functionClusters(
      int tag, int function, int active, WireStruct source, boolean valueWanted) {
    long handle = handles.functions().get(function);
    long lengthBytes = source.lengthBytes();
    int count = lengthBytes < SHAPE_BYTES + 4 ? -1 : source.i32(SHAPE_BYTES);
    int result =
        handle == SessionServices.NO_HANDLE
            ? CudaResult.INVALID_HANDLE
            : count < 0 || lengthBytes != SHAPE_BYTES + 4 + (long) ATTRIBUTE_BYTES * count
                ? CudaResult.INVALID_VALUE
                : putAttributes(source, SHAPE_BYTES + 4, count);
    long out = call.out();
    if (result == 0) {
      putConfig(source, 0, source.i32(CONFIG_SHARED_BYTES), 0, count);
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
        WireStruct.at(frame, FIXED_BYTES + (long) ATTRIBUTE_BYTES * attributeCount);
    int result = putAttributes(request, FIXED_BYTES, attributeCount);
    if (result != 0) {
      return result;
    }
    if ((Memory.getInt(frame + FLAGS) & FLAG_COOPERATIVE) != 0) {
      long target = attributes + (long) ATTRIBUTE_BYTES * count;
      Memory.clear(target, ATTRIBUTE_BYTES);
      Memory.putInt(target, LaunchAttribute.COOPERATIVE);
      Memory.putInt(target + 8, 1);
      count++;
    }
    putConfig(request, GRID, request.i32(SHARED_BYTES), stream, count);
    return backend.cuLaunchKernelEx(config, function, 0, extra);
  }

  private void putConfig(
      WireStruct source, long shape, int sharedBytes, long stream, int attributeCount) {
    source.copyNumbers(shape, CONFIG_SHARED_BYTES, config);
    Memory.putInt(config + CONFIG_SHARED_BYTES, sharedBytes);
    Memory.putLong(config + CONFIG_STREAM, stream);
    Memory.putLong(config + CONFIG_ATTRIBUTES, attributes);
    Memory.putInt(config + CONFIG_ATTRIBUTE_COUNT, attributeCount);
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
