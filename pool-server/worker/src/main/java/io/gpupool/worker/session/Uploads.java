// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker.session;

import io.gpupool.cuda.SessionServices;
import io.gpupool.cuda.UploadOps;
import io.gpupool.worker.os.Memory;
import java.util.ArrayDeque;
import java.util.Iterator;
import java.util.function.LongToIntFunction;

/** Copies to the device, and of boxes within it. Used by the session's thread alone. */
final class Uploads implements UploadOps {
  /*
   * The driver reads a long pageable source only when the stream gets there, and makes its caller
   * wait. The session's thread must not wait, and wants its receive buffer back: so long sources go
   * through page-locked blocks, which come back when an event behind the copy is reached.
   */
  private static final long MAX_IN_FLIGHT_BYTES = 64L << 20;
  private static final long HOST_FUNCTION_OVERDRAFT_BYTES = Staging.MAX_BYTES;

  private final SessionState state;
  private final HostCallbacks callbacks;
  private final ArrayDeque<Block> inFlight = new ArrayDeque<>();
  private final long readAtOnceBytes;

  private record Block(ContextState context, long address, long event) {}

  Uploads(SessionState state, HostCallbacks callbacks) {
    this.state = state;
    this.callbacks = callbacks;
    readAtOnceBytes = state.backend.sourceReadAtOnceBytes();
  }

  @Override
  public int memcpyHtoD(long destination, int stream, long source, long lengthBytes) {
    ContextState context = state.current;
    if (!context.exists()) {
      return CudaResult.INVALID_CONTEXT;
    }
    long streamHandle = state.stream(stream);
    if (streamHandle == SessionServices.NO_HANDLE) {
      return CudaResult.INVALID_HANDLE;
    }
    if (lengthBytes > Frames.MAX_DATA_BYTES || !state.owned.owns(destination, lengthBytes)) {
      return CudaResult.INVALID_VALUE;
    }
    if (lengthBytes <= readAtOnceBytes) {
      return state.backend.cuMemcpyHtoDAsync_v2(destination, source, lengthBytes, streamHandle);
    }
    return writeStaged(
        context,
        source,
        lengthBytes,
        streamHandle,
        block -> state.backend.cuMemcpyHtoDAsync_v2(destination, block, lengthBytes, streamHandle));
  }

  /** Copies a box within the device. */
  @Override
  public int boxCopy(
      int toArray,
      long toAddress,
      long toX,
      long toY,
      long toZ,
      long toPitch,
      long toRows,
      int fromArray,
      long fromAddress,
      long fromX,
      long fromY,
      long fromZ,
      long fromPitch,
      long fromRows,
      long width,
      long height,
      long depth,
      int stream) {
    Copy3D.Side to = state.side(toArray, toAddress, toX, toY, toZ, toPitch, toRows);
    Copy3D.Side from = state.side(fromArray, fromAddress, fromX, fromY, fromZ, fromPitch, fromRows);
    Copy3D box = new Copy3D(width, height, depth);
    if (!state.current.exists()) {
      return CudaResult.INVALID_CONTEXT;
    }
    long streamHandle = state.stream(stream);
    if (streamHandle == SessionServices.NO_HANDLE
        || to.array() == SessionServices.NO_HANDLE
        || from.array() == SessionServices.NO_HANDLE) {
      return CudaResult.INVALID_HANDLE;
    }
    return box.isGood() && isGood(to, box) && isGood(from, box)
        ? state.backend.cuMemcpy3DAsync_v2(box.describe(state.in(), to, from), streamHandle)
        : CudaResult.INVALID_VALUE;
  }

  /** Writes a box whose bytes lie row after row. */
  @Override
  public int boxWrite(
      int array,
      long address,
      long x,
      long y,
      long z,
      long pitch,
      long rows,
      long width,
      long height,
      long depth,
      int stream,
      long source,
      long lengthBytes) {
    Copy3D.Side to = state.side(array, address, x, y, z, pitch, rows);
    Copy3D box = new Copy3D(width, height, depth);
    ContextState context = state.current;
    if (!context.exists()) {
      return CudaResult.INVALID_CONTEXT;
    }
    long streamHandle = state.stream(stream);
    if (streamHandle == SessionServices.NO_HANDLE || to.array() == SessionServices.NO_HANDLE) {
      return CudaResult.INVALID_HANDLE;
    }
    boolean good = box.isGood() && isGood(to, box);
    if (!good || box.lengthBytes() != lengthBytes || lengthBytes > Frames.MAX_DATA_BYTES) {
      return CudaResult.INVALID_VALUE;
    }
    if (readAtOnceBytes == Long.MAX_VALUE) {
      return writeAtOnce(to, box, source, streamHandle);
    }
    // What drivers say of short sources, they say of copies in one row.
    return writeStaged(
        context,
        source,
        lengthBytes,
        streamHandle,
        block -> writeAtOnce(to, box, block, streamHandle));
  }

  private boolean isGood(Copy3D.Side side, Copy3D box) {
    return side.isGood(box) && state.owns(side, box);
  }

  private int writeAtOnce(Copy3D.Side to, Copy3D box, long source, long streamHandle) {
    return state.backend.cuMemcpy3DAsync_v2(
        box.describeFromHost(state.in(), to, source), streamHandle);
  }

  /** Copies by way of a page-locked block. */
  private int writeStaged(
      ContextState context,
      long source,
      long lengthBytes,
      long streamHandle,
      LongToIntFunction copy) {
    reclaim();
    long block = takeBlock(context, (int) lengthBytes);
    if (block == 0) {
      return CudaResult.OUT_OF_MEMORY;
    }
    Memory.copy(source, block, lengthBytes);
    int result = copy.applyAsInt(block);
    if (result != 0) {
      context.staging.give(block);
      return result;
    }
    long event = context.events.take();
    if (event < 0) {
      // Without an event nobody knows when the block is free again: it is not used any more.
      return (int) -event;
    }
    result = state.backend.cuEventRecord(event, streamHandle);
    inFlight.add(new Block(context, block, event));
    return result;
  }

  /** Forgets the blocks of a context that is going down. */
  void drain(ContextState context) {
    for (Iterator<Block> blocks = inFlight.iterator(); blocks.hasNext(); ) {
      Block block = blocks.next();
      if (block.context == context) {
        state.backend.cuEventSynchronize(block.event);
        blocks.remove();
      }
    }
  }

  private long takeBlock(ContextState context, int lengthBytes) {
    while (true) {
      boolean hostFunction = callbacks.anyOutstanding();
      if ((long) inFlight.size() * Staging.BLOCK_BYTES < MAX_IN_FLIGHT_BYTES || hostFunction) {
        // While a host function runs, waiting could be for ever: what ends it is yet to be read.
        long overdraft = hostFunction ? HOST_FUNCTION_OVERDRAFT_BYTES : 0;
        long block = context.staging.take(lengthBytes, overdraft);
        if (block != 0 || hostFunction) {
          return block;
        }
      }
      if (!inFlight.isEmpty()) {
        awaitOldest();
      } else if (!state.waits.awaitCopy()) {
        return 0;
      }
    }
  }

  private void reclaim() {
    while (!inFlight.isEmpty()) {
      Block oldest = inFlight.peek();
      if (state.backend.cuEventQuery(oldest.event) == CudaResult.NOT_READY) {
        return;
      }
      giveBack(inFlight.poll());
    }
  }

  private void awaitOldest() {
    Block oldest = inFlight.poll();
    state.answers.flush();
    state.backend.cuEventSynchronize(oldest.event);
    giveBack(oldest);
  }

  private static void giveBack(Block block) {
    block.context.staging.give(block.address);
    block.context.events.give(block.event);
  }
}
