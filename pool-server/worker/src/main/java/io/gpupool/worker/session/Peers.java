// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker.session;

import io.gpupool.cuda.PeerOps;
import java.util.List;
import java.util.function.LongToIntFunction;

/** GPUs of the session that reach each other's memory. Used by the session's thread alone. */
final class Peers implements PeerOps {
  private static final int CAN_ACCESS = 0;

  private final SessionState state;
  private final Contexts contexts;
  private final List<Integer> devices;

  Peers(SessionState state, Contexts contexts, List<Integer> devices) {
    this.state = state;
    this.contexts = contexts;
    this.devices = devices;
  }

  /** A CUdevice_P2PAttribute, or with 0 whether there is access at all. */
  @Override
  public void peerAttribute(int tag, int gpu, int peer, int attribute, boolean valueWanted) {
    int count = devices.size();
    if (gpu < 0 || gpu >= count || peer < 0 || peer >= count) {
      state.reply(tag, CudaResult.INVALID_VALUE);
      return;
    }
    long out = state.out();
    int device = devices.get(gpu);
    int other = devices.get(peer);
    int result =
        attribute == CAN_ACCESS
            ? state.backend.cuDeviceCanAccessPeer(out, device, other)
            : state.backend.cuDeviceGetP2PAttribute(out, attribute, device, other);
    state.reply(tag, result, out, Long.BYTES);
  }

  @Override
  public void ctxEnablePeer(int tag, int peer) {
    of(tag, peer, handle -> state.backend.cuCtxEnablePeerAccess(handle, 0));
  }

  @Override
  public void ctxDisablePeer(int tag, int peer) {
    of(tag, peer, state.backend::cuCtxDisablePeerAccess);
  }

  private void of(int tag, int peer, LongToIntFunction call) {
    ContextState context = contexts.find(peer);
    boolean sound = context.exists() && state.current.exists();
    state.reply(tag, sound ? call.applyAsInt(context.handle) : CudaResult.INVALID_CONTEXT);
  }
}
