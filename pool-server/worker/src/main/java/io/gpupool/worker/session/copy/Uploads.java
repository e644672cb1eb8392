// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker.session.copy;

import io.gpupool.cuda.Backend;
import io.gpupool.cuda.CopyExtent;
import io.gpupool.cuda.CopyRegion;
import io.gpupool.cuda.CudaResult;
import io.gpupool.cuda.FrameLimits;
import io.gpupool.cuda.SessionServices;
import io.gpupool.cuda.UploadOps;
import io.gpupool.worker.os.Memory;
import io.gpupool.worker.session.call.CurrentCall;
import io.gpupool.worker.session.call.Waits;
import io.gpupool.worker.session.core.Answers;
import io.gpupool.worker.session.core.ContextState;
import io.gpupool.worker.session.core.HandleTables;
import io.gpupool.worker.session.core.Staging;
import io.gpupool.worker.session.quota.OwnedMemory;
import java.util.ArrayDeque;
import java.util.Iterator;
import java.util.function.LongToIntFunction;

/** Copies to the device and within it. Used by the session's thread alone. */
public final class Uploads implements UploadOps {
  /*
   * The driver reads a long pageable source only when the stream gets there, and makes its caller
   * wait. The session's thread must not wait, and wants its receive buffer back: so long sources go
   * through page-locked blocks, which come back when an event behind the copy is reached.
   */
  private static final long MAX_IN_FLIGHT_BYTES = 64L << 20;

  private final Backend backend;
  private final CurrentCall call;
  private final HandleTables handles;
  private final Answers answers;
  private final Waits waits;
  private final OwnedMemory owned;
  private final StagingBlocks blocks;
  private final ArrayDeque<Block> inFlight = new ArrayDeque<>();
  private final long readAtOnceBytes;

  private record Block(ContextState context, long address, long event) {}

  public Uploads(
      Backend backend,
      CurrentCall call,
      HandleTables handles,
      Answers answers,
      Waits waits,
      OwnedMemory owned,
      StagingBlocks blocks) {
    this.backend = backend;
    this.call = call;
    this.handles = handles;
    this.answers = answers;
    this.waits = waits;
    this.owned = owned;
    this.blocks = blocks;
    readAtOnceBytes = backend.sourceReadAtOnceBytes();
  }

  @Override
  public int memcpyHtoD(long destination, int stream, long source, long lengthBytes) {
    ContextState context = call.context();
    if (!context.exists()) {
      return CudaResult.INVALID_CONTEXT;
    }
    long streamHandle = handles.stream(stream);
    if (streamHandle == SessionServices.NO_HANDLE) {
      return CudaResult.INVALID_HANDLE;
    }
    if (lengthBytes > FrameLimits.MAX_DATA_BYTES || !owned.owns(destination, lengthBytes)) {
      return CudaResult.INVALID_VALUE;
    }
    if (lengthBytes <= readAtOnceBytes) {
      return backend.cuMemcpyHtoDAsync_v2(destination, source, lengthBytes, streamHandle);
    }
    return writeStaged(
        context,
        source,
        lengthBytes,
        streamHandle,
        block -> backend.cuMemcpyHtoDAsync_v2(destination, block, lengthBytes, streamHandle));
  }

  /** Copies within the device. */
  @Override
  public int copy3D(CopyRegion to, CopyRegion from, CopyExtent extent, int stream) {
    if (!call.context().exists()) {
      return CudaResult.INVALID_CONTEXT;
    }
    Copy3D.Side target = Copy3D.Side.of(to, handles);
    Copy3D.Side source = Copy3D.Side.of(from, handles);
    Copy3D copy = Copy3D.of(extent);
    long streamHandle = handles.stream(stream);
    if (streamHandle == SessionServices.NO_HANDLE || target.found() != 0 || source.found() != 0) {
      return CudaResult.INVALID_HANDLE;
    }
    return copy.isGood() && target.takes(copy, owned) && source.takes(copy, owned)
        ? backend.cuMemcpy3DAsync_v2(copy.describe(call.in(), target, source), streamHandle)
        : CudaResult.INVALID_VALUE;
  }

  /** Writes bytes that lie row after row. */
  @Override
  public int write3D(CopyRegion to, CopyExtent extent, int stream, long source, long lengthBytes) {
    ContextState context = call.context();
    if (!context.exists()) {
      return CudaResult.INVALID_CONTEXT;
    }
    Copy3D.Side target = Copy3D.Side.of(to, handles);
    Copy3D copy = Copy3D.of(extent);
    long streamHandle = handles.stream(stream);
    if (streamHandle == SessionServices.NO_HANDLE || target.found() != 0) {
      return CudaResult.INVALID_HANDLE;
    }
    boolean good = copy.isGood() && target.takes(copy, owned);
    if (!good || copy.lengthBytes() != lengthBytes || lengthBytes > FrameLimits.MAX_DATA_BYTES) {
      return CudaResult.INVALID_VALUE;
    }
    if (readAtOnceBytes == Long.MAX_VALUE) {
      return writeAtOnce(target, copy, source, streamHandle);
    }
    // What drivers say of short sources, they say of copies in one row.
    return writeStaged(
        context,
        source,
        lengthBytes,
        streamHandle,
        block -> writeAtOnce(target, copy, block, streamHandle));
  }

  private int writeAtOnce(Copy3D.Side to, Copy3D copy, long source, long streamHandle) {
    return backend.cuMemcpy3DAsync_v2(copy.describeFromHost(call.in(), to, source), streamHandle);
  }

  /** Copies by way of a page-locked block. */
  private int writeStaged(
      ContextState context,
      long source,
      long lengthBytes,
      long streamHandle,
      LongToIntFunction copy) {
    reclaim();
    long block = blocks.take(context, (int) lengthBytes, this::hasRoom, this::awaitOldest);
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
    result = backend.cuEventRecord(event, streamHandle);
    inFlight.add(new Block(context, block, event));
    return result;
  }

  /** Forgets the blocks of a context that is going down. */
  public void drain(ContextState context) {
    for (Iterator<Block> all = inFlight.iterator(); all.hasNext(); ) {
      Block block = all.next();
      if (block.context == context) {
        backend.cuEventSynchronize(block.event);
        all.remove();
      }
    }
  }

  private boolean hasRoom() {
    return (long) inFlight.size() * Staging.BLOCK_BYTES < MAX_IN_FLIGHT_BYTES;
  }

  /** Waits for the oldest copy; false if there is none. */
  private boolean awaitOldest() {
    Block oldest = inFlight.poll();
    if (oldest == null) {
      return waits.awaitCopy();
    }
    answers.flush();
    backend.cuEventSynchronize(oldest.event);
    giveBack(oldest);
    return true;
  }

  private void reclaim() {
    while (!inFlight.isEmpty()) {
      Block oldest = inFlight.peek();
      if (backend.cuEventQuery(oldest.event) == CudaResult.NOT_READY) {
        return;
      }
      giveBack(inFlight.poll());
    }
  }

  private static void giveBack(Block block) {
    block.context.staging.give(block.address);
    block.context.events.give(block.event);
  }
}
