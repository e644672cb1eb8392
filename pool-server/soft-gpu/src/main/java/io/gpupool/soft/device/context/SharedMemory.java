// SPDX-License-Identifier: Apache-2.0
package io.gpupool.soft.device.context;

import io.gpupool.soft.CudaStatus;
import io.gpupool.soft.GpuException;
import io.gpupool.soft.device.SoftDevice;
import io.gpupool.soft.device.SoftPool;
import io.gpupool.soft.memory.Allocation;
import io.gpupool.soft.memory.SharedPiece;
import java.util.concurrent.atomic.AtomicReference;

/**
 * Memory of a context that other processes have, and theirs that it has. Any thread may call it.
 */
public final class SharedMemory {
  /** How long sharing memory waits for running kernels. */
  private static final long SHARE_MILLIS = 10_000;

  private final SoftContext context;

  SharedMemory(SoftContext context) {
    this.context = context;
  }

  /**
   * Lets other processes have an allocation of the program; waits until kernels and copies that are
   * under way have ended.
   *
   * @param address anywhere in it
   * @throws GpuException INVALID_VALUE if there is none, NOT_READY if a kernel does not end
   */
  public SharedPiece share(long address) {
    context.requireUsable();
    Allocation allocation =
        context.find(address).orElseThrow(() -> SoftContext.notAllocated(address));
    SoftDevice home = context.device().gpu().requireDeviceOf(allocation.address());
    AtomicReference<SharedPiece> piece = new AtomicReference<>();
    Runnable share = () -> piece.set(home.memory().share(allocation.address()));
    if (!context.device().gpu().scheduler().runAlone(share, SHARE_MILLIS)) {
      throw new GpuException(
          CudaStatus.NOT_READY, "memory is shared once no kernel runs, and one does not end");
    }
    return piece.get();
  }

  /**
   * Checks that an allocation is of a pool whose memory other processes may have.
   *
   * @throws GpuException INVALID_VALUE
   */
  public void requireOfShareablePool(long address) {
    Object owner =
        context.find(address).orElseThrow(() -> SoftContext.notAllocated(address)).owner();
    if (!(owner instanceof SoftPool pool)) {
      throw new GpuException(CudaStatus.INVALID_VALUE, "the allocation is of no pool");
    }
    pool.requireShareable();
  }

  /** Whether memory of another process is shown there. */
  public boolean isAttached(long address) {
    SoftDevice home = context.device().gpu().deviceOf(address);
    return home != null && home.memory().isAttached(address);
  }

  /**
   * Shows memory of another process, on this context's device.
   *
   * @param piece the descriptor is one of this process, and stays the caller's
   * @return its address here
   */
  public long attach(SharedPiece piece) {
    context.requireUsable();
    return context.device().memory().attach(piece);
  }

  /**
   * Ends what {@link #attach} began; no kernel may be at work on it.
   *
   * @throws GpuException INVALID_VALUE if nothing of another process begins there
   */
  public void detach(long address) {
    if (!isAttached(address)) {
      throw new GpuException(
          CudaStatus.INVALID_VALUE,
          "no memory of another process is at 0x" + Long.toHexString(address));
    }
    context.device().gpu().requireDeviceOf(address).memory().detach(address);
  }
}
