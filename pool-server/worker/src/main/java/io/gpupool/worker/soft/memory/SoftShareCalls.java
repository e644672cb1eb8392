// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker.soft.memory;

import io.gpupool.cuda.IpcCalls;
import io.gpupool.soft.CudaStatus;
import io.gpupool.soft.GpuException;
import io.gpupool.soft.device.SoftPool;
import io.gpupool.soft.device.context.SoftContext;
import io.gpupool.soft.device.context.SoftEvent;
import io.gpupool.soft.memory.PhysicalBlock;
import io.gpupool.soft.memory.SharedFile;
import io.gpupool.worker.os.Memory;
import io.gpupool.worker.soft.state.SoftCalls;
import io.gpupool.worker.soft.state.SoftState;
import io.gpupool.worker.soft.state.Waiting;

/**
 * Driver calls about memory and events that several processes share. Descriptors that are given to
 * them stay the caller's.
 */
public final class SoftShareCalls extends SoftCalls implements IpcCalls {
  public SoftShareCalls(SoftState state) {
    super(state);
  }

  int LAZY_PEER_ACCESS = 1;

  @Override
  public int cuIpcGetMemHandle(long handle, long address) {
    return call(() -> SharedHandle.write(handle, context().sharedMemory().share(address)));
  }

  @Override
  public int cuIpcOpenMemHandle_v2(long address, long handle, int flags) {
    return call(() -> {
      if (flags != 0 && flags != LAZY_PEER_ACCESS) {
        throw new GpuException(CudaStatus.INVALID_VALUE, "flags " + flags);
      }
      Memory.putLong(address, attach(handle));
    });
  }

  @Override
  public int cuIpcCloseMemHandle(long address) {
    return call(() -> {
      SoftContext context = context();
      // Kernels may still be at work on it.
      Waiting.await(context.completion());
      context.sharedMemory().detach(address);
    });
  }

  @Override
  public int cuIpcGetEventHandle(long handle, long event) {
    return call(() -> {
      SoftEvent shared = state().handles().get(event, SoftEvent.class);
      SharedHandle.setDescriptor(handle, shared.shared().descriptor());
    });
  }

  @Override
  public int cuIpcOpenEventHandle(long event, long handle) {
    return call(() -> {
      SoftEvent opened = context().openEvent(SharedHandle.descriptor(handle));
      Memory.putLong(event, state().handles().add(opened));
    });
  }

  @Override
  public int cuMemExportToShareableHandle(long descriptor, long handle, int type, long flags) {
    return call(() -> {
      requireDescriptor(type, flags);
      PhysicalBlock block = state().handles().get(handle, PhysicalBlock.class);
      if (!block.isShareable()) {
        throw new GpuException(
            CudaStatus.INVALID_VALUE, "the block was made without handles of that type");
      }
      Memory.putInt(descriptor, SharedFile.duplicate(block.descriptor()));
    });
  }

  @Override
  public int cuMemImportFromShareableHandle(long handle, long descriptor, int type) {
    return call(() -> {
      requireDescriptor(type, 0);
      PhysicalBlock block = PhysicalBlock.ofFile(SharedFile.duplicate((int) descriptor));
      Memory.putLong(handle, state().handles().add(block));
    });
  }

  @Override
  public int cuMemPoolExportToShareableHandle(long descriptor, long pool, int type, long flags) {
    return call(() -> {
      requireDescriptor(type, flags);
      state().handles().get(pool, SoftPool.class).requireShareable();
      Memory.putInt(descriptor, SharedFile.empty());
    });
  }

  @Override
  public int cuMemPoolImportFromShareableHandle(long pool, long descriptor, int type, long flags) {
    return call(() -> {
      requireDescriptor(type, flags);
      SoftPool opened = SoftPool.ofAnotherProcess(state().currentOrFirstDevice());
      Memory.putLong(pool, state().handles().add(opened));
    });
  }

  @Override
  public int cuMemPoolExportPointer(long handle, long address) {
    return call(() -> {
      SoftContext context = context();
      context.sharedMemory().requireOfShareablePool(address);
      SharedHandle.write(handle, context.sharedMemory().share(address));
    });
  }

  @Override
  public int cuMemPoolImportPointer(long address, long pool, long handle) {
    return call(() -> {
      state().handles().get(pool, SoftPool.class).requireOfAnotherProcess();
      Memory.putLong(address, attach(handle));
    });
  }

  private long attach(long handle) {
    return context().sharedMemory().attach(SharedHandle.read(handle));
  }

  private static void requireDescriptor(int type, long flags) {
    if (type != SoftVirtualCalls.HANDLE_DESCRIPTOR || flags != 0) {
      throw new GpuException(
          CudaStatus.NOT_SUPPORTED, "handles of type " + type + ", flags " + flags);
    }
  }
}
