// SPDX-License-Identifier: Apache-2.0
package io.gpupool.soft.device.context;

import io.gpupool.soft.CudaStatus;
import io.gpupool.soft.GpuException;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;

/** The contexts whose memory a context has enabled access to. Any thread may call it. */
public final class PeerAccess {
  private final SoftContext context;
  private final Set<SoftContext> peers = ConcurrentHashMap.newKeySet();

  PeerAccess(SoftContext context) {
    this.context = context;
  }

  /**
   * Enables access to another context's memory.
   *
   * @throws GpuException INVALID_CONTEXT for this context, PEER_ACCESS_UNSUPPORTED for one of the
   *     same device, PEER_ACCESS_ALREADY_ENABLED
   */
  public void enable(SoftContext peer) {
    context.requireUsable();
    peer.requireUsable();
    if (peer == context) {
      throw new GpuException(CudaStatus.INVALID_CONTEXT, "a context is no peer of itself");
    }
    if (peer.device() == context.device()) {
      throw new GpuException(
          CudaStatus.PEER_ACCESS_UNSUPPORTED, "the peer is a context of the same device");
    }
    if (!peers.add(peer)) {
      throw new GpuException(
          CudaStatus.PEER_ACCESS_ALREADY_ENABLED, "peer access is enabled already");
    }
  }

  /**
   * Takes {@link #enable} back.
   *
   * @throws GpuException PEER_ACCESS_NOT_ENABLED
   */
  public void disable(SoftContext peer) {
    context.requireUsable();
    if (!peers.remove(peer)) {
      throw new GpuException(CudaStatus.PEER_ACCESS_NOT_ENABLED, "peer access is not enabled");
    }
  }
}
