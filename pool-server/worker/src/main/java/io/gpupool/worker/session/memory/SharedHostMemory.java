// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker.session.memory;

import io.gpupool.cuda.Backend;
import io.gpupool.cuda.CudaResult;
import io.gpupool.cuda.HostMemoryOps;
import io.gpupool.cuda.SharedHost;
import io.gpupool.worker.os.Posix;
import io.gpupool.worker.session.call.CurrentCall;
import io.gpupool.worker.session.core.ContextState;
import io.gpupool.worker.session.core.HandleTable;
import io.gpupool.worker.session.core.HandleTables;
import io.gpupool.worker.session.quota.OwnedMemory;
import io.gpupool.worker.session.stream.BlockingCalls;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.function.IntSupplier;

/**
 * Page-locked memory of a program on this machine: regions that are mapped and page-locked here,
 * too, so that copies need not carry their bytes. Used by the session's thread alone.
 */
public final class SharedHostMemory implements HostMemoryOps {
  private static final int PORTABLE = 1;

  private final Backend backend;
  private final CurrentCall call;
  private final HandleTables handles;
  private final OwnedMemory owned;
  private final BlockingCalls blocking;
  private final IntSupplier descriptors;
  private final Map<Integer, Region> regions = new HashMap<>();
  private long totalBytes;

  private record Region(ContextState context, long address, long lengthBytes) {
    boolean contains(long offset, long bytes) {
      return offset >= 0 && bytes >= 0 && offset <= lengthBytes && bytes <= lengthBytes - offset;
    }
  }

  /**
   * Starts without a region.
   *
   * @param descriptors takes the descriptor that came last beside the call stream; -1: none
   */
  public SharedHostMemory(
      Backend backend,
      CurrentCall call,
      HandleTables handles,
      OwnedMemory owned,
      BlockingCalls blocking,
      IntSupplier descriptors) {
    this.backend = backend;
    this.call = call;
    this.handles = handles;
    this.owned = owned;
    this.blocking = blocking;
    this.descriptors = descriptors;
  }

  @Override
  public void hostShare(int tag, int region, long lengthBytes) {
    int descriptor = descriptors.getAsInt();
    int result = descriptor < 0 ? CudaResult.NOT_SUPPORTED : map(descriptor, region, lengthBytes);
    if (descriptor >= 0) {
      Posix.close(descriptor);
    }
    call.reply(tag, result);
  }

  private int map(int descriptor, int number, long lengthBytes) {
    if (!call.context().exists()) {
      return CudaResult.INVALID_CONTEXT;
    }
    if (lengthBytes <= 0 || regions.containsKey(number)) {
      return CudaResult.INVALID_VALUE;
    }
    // What a program has not touched of it counts as this process's memory.
    if (regions.size() == SharedHost.REGIONS || lengthBytes > SharedHost.BYTES - totalBytes) {
      return CudaResult.OUT_OF_MEMORY;
    }
    if (!Posix.keepsLength(descriptor, lengthBytes)) {
      return CudaResult.INVALID_VALUE;
    }
    long address = Posix.mapSharedAtOnce(descriptor, lengthBytes);
    if (address == 0) {
      return CudaResult.OUT_OF_MEMORY;
    }
    int result = blocking.call(() -> backend.cuMemHostRegister_v2(address, lengthBytes, PORTABLE));
    if (result != 0) {
      Posix.unmap(address, lengthBytes);
      return result;
    }
    regions.put(number, new Region(call.context(), address, lengthBytes));
    totalBytes += lengthBytes;
    return 0;
  }

  @Override
  public int hostUnshare(int region) {
    Region gone = regions.get(region);
    if (gone == null || gone.context() != call.context()) {
      return CudaResult.INVALID_VALUE;
    }
    regions.remove(region);
    unmap(gone);
    return 0;
  }

  /** A context ends, and with it the page lock of its regions. */
  public void forget(ContextState context) {
    List<Region> gone =
        regions.values().stream().filter(region -> region.context() == context).toList();
    regions.values().removeAll(gone);
    gone.forEach(this::unmap);
  }

  private void unmap(Region region) {
    totalBytes -= region.lengthBytes();
    blocking.call(() -> {
      backend.cuCtxSetCurrent(region.context().handle);
      // A program that frees memory has waited for its copies; of one that has not, some may go on.
      backend.cuCtxSynchronize();
      return backend.cuMemHostUnregister(region.address());
    });
    Posix.unmap(region.address(), region.lengthBytes());
  }

  @Override
  public int hostToDevice(long destination, int region, long offset, long lengthBytes, int stream) {
    int refused = check(region, offset, destination, lengthBytes, stream);
    return refused != 0
        ? refused
        : backend.cuMemcpyHtoDAsync_v2(
            destination, place(region, offset), lengthBytes, handles.stream(stream));
  }

  @Override
  public int deviceToHost(int region, long offset, long source, long lengthBytes, int stream) {
    int refused = check(region, offset, source, lengthBytes, stream);
    return refused != 0
        ? refused
        : backend.cuMemcpyDtoHAsync_v2(
            place(region, offset), source, lengthBytes, handles.stream(stream));
  }

  private int check(int number, long offset, long device, long lengthBytes, int stream) {
    if (!call.context().exists()) {
      return CudaResult.INVALID_CONTEXT;
    }
    Region region = regions.get(number);
    boolean good =
        region != null
            && lengthBytes <= SharedHost.COPY_BYTES
            && region.contains(offset, lengthBytes)
            && owned.owns(device, lengthBytes);
    return good ? HandleTable.found(handles.stream(stream)) : CudaResult.INVALID_VALUE;
  }

  private long place(int region, long offset) {
    return Objects.requireNonNull(regions.get(region)).address() + offset;
  }
}
