// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker.session.texture;

import io.gpupool.cuda.Backend;
import io.gpupool.cuda.CudaResult;
import io.gpupool.cuda.TextureLayout;
import io.gpupool.cuda.TextureOps;
import io.gpupool.cuda.WireStruct;
import io.gpupool.worker.os.Memory;
import io.gpupool.worker.session.call.CurrentCall;
import io.gpupool.worker.session.core.ContextState;
import io.gpupool.worker.session.core.HandleTables;
import io.gpupool.worker.session.core.RefusedException;
import io.gpupool.worker.session.quota.OwnedMemory;
import java.util.HashSet;
import java.util.Set;

/**
 * Texture and surface objects of the session, under the backend's own values. Used by the session's
 * thread alone.
 */
public final class Textures implements TextureOps {
  private static final int MAX_OBJECTS = 1 << 20;

  /** CUDA_TEXTURE_DESC and CUDA_RESOURCE_VIEW_DESC: numbers, then what is reserved. */
  static final int TEXTURE_BYTES = TextureLayout.BYTES;

  private static final int TEXTURE_NUMBERS_BYTES = TextureLayout.RESERVED;
  private static final int VIEW_BYTES = 112;
  private static final int VIEW_NUMBERS_BYTES = 48;

  private final Backend backend;
  private final CurrentCall call;
  private final HandleTables handles;
  private final OwnedMemory owned;
  private final Set<Key> objects = new HashSet<>();

  /** A driver's values are good in one context. */
  private record Key(ContextState context, boolean surface, long value) {}

  public Textures(Backend backend, CurrentCall call, HandleTables handles, OwnedMemory owned) {
    this.backend = backend;
    this.call = call;
    this.handles = handles;
    this.owned = owned;
  }

  @Override
  public void textureCreate(
      int tag, WireStruct resource, WireStruct texture, WireStruct view, boolean objectWanted) {
    int refused = check();
    if (refused == 0 && (!texture.is(TEXTURE_BYTES) || !view.isNull() && !view.is(VIEW_BYTES))) {
      refused = CudaResult.INVALID_VALUE;
    }
    if (refused != 0) {
      call.reply(tag, refused);
      return;
    }
    try {
      long in = Resource.read(handles, owned, resource).write(call.in());
      long textureAt = in + Resource.BYTES;
      long viewAt = textureAt + TEXTURE_BYTES;
      Memory.clear(textureAt, TEXTURE_BYTES + VIEW_BYTES);
      texture.copyNumbers(0, TEXTURE_NUMBERS_BYTES, textureAt);
      if (!view.isNull()) {
        view.copyNumbers(0, VIEW_NUMBERS_BYTES, viewAt);
      }
      long out = call.out();
      int result = backend.cuTexObjectCreate(out, in, textureAt, view.isNull() ? 0 : viewAt);
      finish(tag, result, out, false);
    } catch (RefusedException e) {
      call.reply(tag, e.result());
    }
  }

  @Override
  public void surfaceCreate(int tag, WireStruct resource, boolean objectWanted) {
    int refused = check();
    if (refused != 0) {
      call.reply(tag, refused);
      return;
    }
    try {
      long in = Resource.read(handles, owned, resource).write(call.in());
      long out = call.out();
      finish(tag, backend.cuSurfObjectCreate(out, in), out, true);
    } catch (RefusedException e) {
      call.reply(tag, e.result());
    }
  }

  @Override
  public int textureDestroy(long object) {
    boolean known = objects.remove(new Key(call.context(), false, object));
    return known ? backend.cuTexObjectDestroy(object) : CudaResult.INVALID_VALUE;
  }

  @Override
  public int surfaceDestroy(long object) {
    boolean known = objects.remove(new Key(call.context(), true, object));
    return known ? backend.cuSurfObjectDestroy(object) : CudaResult.INVALID_VALUE;
  }

  /** The objects of a context go with it, where the backend does not see to that, too. */
  public void forget(ContextState context) {
    objects.removeIf(key -> key.context == context);
  }

  private int check() {
    if (!call.context().exists()) {
      return CudaResult.INVALID_CONTEXT;
    }
    return objects.size() < MAX_OBJECTS ? 0 : CudaResult.OUT_OF_MEMORY;
  }

  private void finish(int tag, int result, long out, boolean surface) {
    if (result == 0) {
      objects.add(new Key(call.context(), surface, Memory.getLong(out)));
    }
    call.reply(tag, result, out, 8);
  }
}
