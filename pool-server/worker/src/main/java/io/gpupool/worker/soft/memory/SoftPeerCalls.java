// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker.soft.memory;

import io.gpupool.cuda.PeerCalls;
import io.gpupool.soft.CudaStatus;
import io.gpupool.soft.GpuException;
import io.gpupool.soft.device.SoftDevice;
import io.gpupool.worker.os.Memory;
import io.gpupool.worker.soft.state.SoftCalls;
import io.gpupool.worker.soft.state.SoftState;

/** Driver calls about devices that reach each other's memory: all of a process do. */
public final class SoftPeerCalls extends SoftCalls implements PeerCalls {
  /* CUdevice_P2PAttribute: 1 performance rank, 2 access, 3 native atomics, 4 arrays, 5 some atomics. */
  private static final int FIRST_ATTRIBUTE = 1;
  private static final int ACCESS = 2;
  private static final int NATIVE_ATOMICS = 3;
  private static final int LAST_ATTRIBUTE = 5;

  public SoftPeerCalls(SoftState state) {
    super(state);
  }

  @Override
  public int cuDeviceCanAccessPeer(long can, int device, int peer) {
    return call(() -> Memory.putInt(can, device(device) != device(peer) ? 1 : 0));
  }

  @Override
  public int cuDeviceGetP2PAttribute(long value, int attribute, int source, int target) {
    return call(() -> {
      SoftDevice from = device(source);
      if (from == device(target) || attribute < FIRST_ATTRIBUTE || attribute > LAST_ATTRIBUTE) {
        throw new GpuException(CudaStatus.INVALID_VALUE, "peer attribute " + attribute);
      }
      Memory.putInt(value, attribute == ACCESS || attribute == NATIVE_ATOMICS ? 1 : 0);
    });
  }

  @Override
  public int cuCtxEnablePeerAccess(long peer, int flags) {
    return call(() -> {
      if (flags != 0) {
        throw new GpuException(CudaStatus.INVALID_VALUE, "peer access flags " + flags);
      }
      context().peers().enable(state().context(peer));
    });
  }

  @Override
  public int cuCtxDisablePeerAccess(long peer) {
    return call(() -> context().peers().disable(state().context(peer)));
  }
}
