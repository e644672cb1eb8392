// SPDX-License-Identifier: Apache-2.0
package io.gpupool.soft.exec.call;

import io.gpupool.soft.Dim3;
import io.gpupool.soft.exec.access.AddressTranslation;
import io.gpupool.soft.exec.block.ThreadBlock;
import io.gpupool.soft.exec.memory.NativeMemory;
import io.gpupool.soft.exec.runtime.BlockRuntime;
import io.gpupool.soft.exec.runtime.BlockRuntime.Box;
import io.gpupool.soft.exec.runtime.BlockRuntime.ChildLaunch;
import io.gpupool.soft.exec.runtime.DeviceQueries;
import io.gpupool.soft.exec.runtime.DeviceRuntimeState;
import io.gpupool.soft.exec.runtime.RuntimeCallException;
import java.util.function.ToIntFunction;
import java.util.function.ToLongFunction;

/**
 * The functions of CUDA's device runtime, by their names without {@code cuda}: what a kernel passes
 * is read, and what it asks for written, through the checks of its own accesses. Called by
 * generated code, which finds a method by its name.
 */
public final class RuntimeCalls {
  /** What the runtime is that programs are built with. */
  private static final int RUNTIME_VERSION = 13000;

  private static final int COPY_DEVICE_TO_DEVICE = 3;
  private static final int COPY_DEFAULT = 4;

  /** cudaStreamPerThread. */
  private static final long PER_THREAD = 2;

  private static final int POINTER_BYTES = Long.BYTES;

  /** The first members of {@code cudaFuncAttributes}, of 8 bytes, as CUfunction_attribute. */
  private static final int[] SIZE_ATTRIBUTES = {1, 2, 3};

  /** Its other members, of 4 bytes. */
  private static final int[] INT_ATTRIBUTES = {0, 4, 5, 6, 7, 8, 9};

  private RuntimeCalls() {}

  /** The stream for which 0 stands where each thread has a default stream of its own. */
  public static long perThread(long stream) {
    return stream == 0 ? PER_THREAD : stream;
  }

  /** Whether all launches of the calling block are done. */
  public static int launchesDone(ThreadBlock block) {
    return block.deviceRuntime().runtime().launchesDone() ? 1 : 0;
  }

  private interface Call {
    void run(BlockRuntime runtime);
  }

  /** Makes a call; returns its cudaError, which is the thread's last one from now on. */
  private static int status(ThreadBlock block, int thread, Call call) {
    DeviceRuntimeState state = block.deviceRuntime();
    try {
      call.run(state.runtime());
      return 0;
    } catch (RuntimeCallException e) {
      state.error(thread, e.error());
      return e.error();
    }
  }

  private static long address(ThreadBlock block, int thread, ToLongFunction<BlockRuntime> call) {
    DeviceRuntimeState state = block.deviceRuntime();
    try {
      return call.applyAsLong(state.runtime());
    } catch (RuntimeCallException e) {
      state.error(thread, e.error());
      return 0;
    }
  }

  private static int putInt(
      ThreadBlock block, int thread, long to, ToIntFunction<DeviceQueries> value) {
    return status(
        block,
        thread,
        runtime -> {
          int answer = value.applyAsInt(runtime.queries());
          NativeMemory.putInt(AddressTranslation.generic(block, thread, to, Integer.BYTES), answer);
        });
  }

  private static int putLong(
      ThreadBlock block, int thread, long to, ToLongFunction<BlockRuntime> value) {
    return status(
        block,
        thread,
        runtime -> {
          long place = AddressTranslation.generic(block, thread, to, POINTER_BYTES);
          NativeMemory.putLong(place, value.applyAsLong(runtime));
        });
  }

  // Questions.

  public static int deviceGetAttribute(
      ThreadBlock block, int thread, long value, int attribute, int device) {
    return putInt(block, thread, value, queries -> queries.attribute(attribute, device));
  }

  public static int deviceGetLimit(ThreadBlock block, int thread, long value, int limit) {
    return putLong(block, thread, value, runtime -> runtime.queries().limit(limit));
  }

  /** No preference. */
  public static int deviceGetCacheConfig(ThreadBlock block, int thread, long config) {
    return putInt(block, thread, config, _ -> 0);
  }

  /** Four-byte banks. */
  public static int deviceGetSharedMemConfig(ThreadBlock block, int thread, long config) {
    return putInt(block, thread, config, _ -> 1);
  }

  public static int getDevice(ThreadBlock block, int thread, long device) {
    return putInt(block, thread, device, DeviceQueries::device);
  }

  public static int getDeviceCount(ThreadBlock block, int thread, long count) {
    return putInt(block, thread, count, DeviceQueries::deviceCount);
  }

  public static int runtimeGetVersion(ThreadBlock block, int thread, long version) {
    return putInt(block, thread, version, _ -> RUNTIME_VERSION);
  }

  public static int getLastError(ThreadBlock block, int thread) {
    int error = peekAtLastError(block, thread);
    block.deviceRuntime().error(thread, 0);
    return error;
  }

  public static int peekAtLastError(ThreadBlock block, int thread) {
    return block.deviceRuntime().error(thread);
  }

  public static long getErrorName(ThreadBlock block, int thread, int error) {
    return address(block, thread, runtime -> runtime.queries().errorName(error));
  }

  public static long getErrorString(ThreadBlock block, int thread, int error) {
    return address(block, thread, runtime -> runtime.queries().errorText(error));
  }

  public static int funcGetAttributes(
      ThreadBlock block, int thread, long attributes, long function) {
    return status(
        block,
        thread,
        runtime -> {
          DeviceQueries queries = runtime.queries();
          long at = attributes;
          for (int attribute : SIZE_ATTRIBUTES) {
            long value = queries.functionAttribute(function, attribute);
            NativeMemory.putLong(AddressTranslation.generic(block, thread, at, Long.BYTES), value);
            at += Long.BYTES;
          }
          for (int attribute : INT_ATTRIBUTES) {
            int value = queries.functionAttribute(function, attribute);
            NativeMemory.putInt(
                AddressTranslation.generic(block, thread, at, Integer.BYTES), value);
            at += Integer.BYTES;
          }
        });
  }

  public static int occupancyMaxActiveBlocksPerMultiprocessor(
      ThreadBlock block, int thread, long blocks, long function, int threads, long sharedBytes) {
    return putInt(
        block,
        thread,
        blocks,
        queries -> queries.blocksPerMultiprocessor(function, threads, sharedBytes));
  }

  public static int occupancyMaxActiveBlocksPerMultiprocessorWithFlags(
      ThreadBlock block,
      int thread,
      long blocks,
      long function,
      int threads,
      long sharedBytes,
      int flags) {
    return occupancyMaxActiveBlocksPerMultiprocessor(
        block, thread, blocks, function, threads, sharedBytes);
  }

  // Memory.

  public static int malloc(ThreadBlock block, int thread, long pointer, long bytes) {
    return putLong(
        block,
        thread,
        pointer,
        _ -> {
          long address = BuiltInFunctions.malloc(block, bytes);
          if (address == 0 && bytes != 0) {
            throw new RuntimeCallException(
                RuntimeCallException.MEMORY_ALLOCATION, "the device heap is full");
          }
          return address;
        });
  }

  public static int free(ThreadBlock block, int thread, long address) {
    BuiltInFunctions.free(block, address);
    return 0;
  }

  private static void requireOnDevice(int kind) {
    if (kind != COPY_DEVICE_TO_DEVICE && kind != COPY_DEFAULT) {
      throw new RuntimeCallException(
          RuntimeCallException.INVALID_MEMCPY_DIRECTION, "kernels copy within the device");
    }
  }

  public static int memcpyAsync(
      ThreadBlock block, int thread, long to, long from, long bytes, int kind, long stream) {
    return memcpy2DAsync(block, thread, to, bytes, from, bytes, bytes, 1, kind, stream);
  }

  public static int memcpy2DAsync(
      ThreadBlock block,
      int thread,
      long to,
      long toPitch,
      long from,
      long fromPitch,
      long width,
      long height,
      int kind,
      long stream) {
    return status(
        block,
        thread,
        runtime -> {
          requireOnDevice(kind);
          Box target = new Box(to, toPitch, height, width, height, 1);
          Box source = new Box(from, fromPitch, height, width, height, 1);
          runtime.copy(thread, target, source, stream);
        });
  }

  /** Takes a {@code cudaMemcpy3DParms}, which lies where the kernel says. */
  public static int memcpy3DAsync(ThreadBlock block, int thread, long params, long stream) {
    return status(
        block,
        thread,
        runtime -> {
          MemcpyParams copy =
              MemcpyParams.read(offset ->
                  NativeMemory.getLong(
                      AddressTranslation.generic(block, thread, params + offset, Long.BYTES)));
          requireOnDevice(copy.kind());
          runtime.copy(thread, copy.to(), copy.from(), stream);
        });
  }

  public static int memsetAsync(
      ThreadBlock block, int thread, long to, int value, long bytes, long stream) {
    return memset2DAsync(block, thread, to, bytes, value, bytes, 1, stream);
  }

  public static int memset2DAsync(
      ThreadBlock block,
      int thread,
      long to,
      long pitch,
      int value,
      long width,
      long height,
      long stream) {
    return memset3DAsync(block, thread, to, pitch, width, height, value, width, height, 1, stream);
  }

  public static int memset3DAsync(
      ThreadBlock block,
      int thread,
      long to,
      long pitch,
      long rowBytes,
      long sliceRows,
      int value,
      long width,
      long height,
      long depth,
      long stream) {
    Box target = new Box(to, pitch, sliceRows, width, height, depth);
    return status(block, thread, runtime -> runtime.fill(thread, target, value, stream));
  }

  // Launches.

  public static long getParameterBuffer(ThreadBlock block, int thread, long alignment, long bytes) {
    return address(block, thread, runtime -> runtime.parameterBuffer(alignment, bytes));
  }

  public static long getParameterBufferV2(
      ThreadBlock block,
      int thread,
      long function,
      int gridX,
      int gridY,
      int gridZ,
      int blockX,
      int blockY,
      int blockZ,
      int sharedBytes) {
    ChildLaunch launch =
        new ChildLaunch(
            function, new Dim3(gridX, gridY, gridZ), new Dim3(blockX, blockY, blockZ), sharedBytes);
    return address(block, thread, runtime -> runtime.parameterBuffer(launch));
  }

  public static int launchDevice(
      ThreadBlock block,
      int thread,
      long function,
      long buffer,
      int gridX,
      int gridY,
      int gridZ,
      int blockX,
      int blockY,
      int blockZ,
      int sharedBytes,
      long stream) {
    ChildLaunch launch =
        new ChildLaunch(
            function, new Dim3(gridX, gridY, gridZ), new Dim3(blockX, blockY, blockZ), sharedBytes);
    return status(block, thread, runtime -> runtime.launch(thread, launch, buffer, stream));
  }

  public static int launchDeviceV2(ThreadBlock block, int thread, long buffer, long stream) {
    return status(block, thread, runtime -> runtime.launch(thread, buffer, stream));
  }

  /** The wait is over by the time that this is called. */
  public static int deviceSynchronize(ThreadBlock block, int thread) {
    return 0;
  }

  // Streams and events.

  public static int streamCreateWithFlags(ThreadBlock block, int thread, long stream, int flags) {
    return putLong(block, thread, stream, runtime -> runtime.createStream(flags));
  }

  public static int streamDestroy(ThreadBlock block, int thread, long stream) {
    return status(block, thread, runtime -> runtime.destroyStream(stream));
  }

  public static int streamWaitEvent(
      ThreadBlock block, int thread, long stream, long event, int flags) {
    return status(block, thread, runtime -> runtime.await(thread, stream, event));
  }

  public static int eventCreateWithFlags(ThreadBlock block, int thread, long event, int flags) {
    return putLong(block, thread, event, runtime -> runtime.createEvent(flags));
  }

  public static int eventRecord(ThreadBlock block, int thread, long event, long stream) {
    return status(block, thread, runtime -> runtime.record(thread, event, stream));
  }

  public static int eventRecordWithFlags(
      ThreadBlock block, int thread, long event, long stream, int flags) {
    return eventRecord(block, thread, event, stream);
  }

  public static int eventDestroy(ThreadBlock block, int thread, long event) {
    return status(block, thread, runtime -> runtime.destroyEvent(event));
  }
}
