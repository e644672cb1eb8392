// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker.session.context;

import io.gpupool.cuda.Backend;
import io.gpupool.cuda.CudaResult;
import io.gpupool.cuda.PeerOps;
import io.gpupool.worker.session.call.CurrentCall;
import io.gpupool.worker.session.core.ContextState;
import java.util.List;
import java.util.function.LongToIntFunction;

/** GPUs of the session that reach each other's memory. Used by the session's thread alone. */
public final class Peers implements PeerOps {
  private static final int CAN_ACCESS = 0;

  private final Backend backend;
  private final CurrentCall call;
  private final Contexts contexts;
  private final List<Integer> devices;

  public Peers(Backend backend, CurrentCall call, Contexts contexts, List<Integer> devices) {
    this.backend = backend;
    this.call = call;
    this.contexts = contexts;
    this.devices = devices;
  }

  /** A CUdevice_P2PAttribute, or with 0 whether there is access at all. */
  @Override
  public void peerAttribute(int tag, int gpu, int peer, int attribute, boolean valueWanted) {
    int count = devices.size();
    if (gpu < 0 || gpu >= count || peer < 0 || peer >= count) {
      call.reply(tag, CudaResult.INVALID_VALUE);
      return;
    }
    long out = call.out();
    int device = devices.get(gpu);
    int other = devices.get(peer);
    int result =
        attribute == CAN_ACCESS
            ? backend.cuDeviceCanAccessPeer(out, device, other)
            : backend.cuDeviceGetP2PAttribute(out, attribute, device, other);
    call.reply(tag, result, out, Long.BYTES);
  }

  @Override
  public void ctxEnablePeer(int tag, int peer) {
    of(tag, peer, handle -> backend.cuCtxEnablePeerAccess(handle, 0));
  }

  @Override
  public void ctxDisablePeer(int tag, int peer) {
    of(tag, peer, backend::cuCtxDisablePeerAccess);
  }

  private void of(int tag, int peer, LongToIntFunction access) {
    ContextState context = contexts.find(peer);
    boolean sound = context.exists() && call.context().exists();
    call.reply(tag, sound ? access.applyAsInt(context.handle) : CudaResult.INVALID_CONTEXT);
  }
}
