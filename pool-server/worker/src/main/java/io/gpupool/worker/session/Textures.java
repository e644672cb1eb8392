// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker.session;

import io.gpupool.cuda.SessionServices;
import io.gpupool.cuda.TextureOps;
import io.gpupool.worker.os.Memory;
import java.util.HashSet;
import java.util.Set;

/**
 * Texture and surface objects of the session, under the backend's own values. Used by the session's
 * thread alone.
 */
final class Textures implements TextureOps {
  private static final int MAX_OBJECTS = 1 << 20;
  static final int RESOURCE_BYTES = 144;
  static final int TEXTURE_BYTES = 104;
  private static final int VIEW_BYTES = 112;

  /** Where in a CUDA_RESOURCE_DESC the handle is. */
  private static final int HANDLE_OFFSET = 8;

  static final int TYPE_ARRAY = 0;
  static final int TYPE_MIPMAPPED_ARRAY = 1;

  private final SessionState state;
  private final Set<Key> objects = new HashSet<>();

  /** A driver's values are good in one context. */
  private record Key(ContextState context, boolean surface, long value) {}

  /** A struct in the receive buffer; address 0: NULL. */
  record Struct(long address, long lengthBytes) {
    private boolean is(int bytes) {
      return address != 0 && lengthBytes == bytes;
    }
  }

  Textures(SessionState state) {
    this.state = state;
  }

  @Override
  public void textureCreate(
      int tag,
      long resourceAddress,
      long resourceBytes,
      long textureAddress,
      long textureBytes,
      long viewAddress,
      long viewBytes,
      boolean objectWanted) {
    Struct resource = new Struct(resourceAddress, resourceBytes);
    Struct texture = new Struct(textureAddress, textureBytes);
    Struct view = new Struct(viewAddress, viewBytes);
    int refused = check(resource);
    if (refused == 0 && (!texture.is(TEXTURE_BYTES) || view.address != 0 && !view.is(VIEW_BYTES))) {
      refused = CudaResult.INVALID_VALUE;
    }
    long in = state.in();
    if (refused == 0) {
      refused = numbersToHandles(resource, in);
    }
    if (refused != 0) {
      state.reply(tag, refused);
      return;
    }
    long textureAt = in + RESOURCE_BYTES;
    long viewAt = textureAt + TEXTURE_BYTES;
    Memory.copy(texture.address, textureAt, TEXTURE_BYTES);
    if (view.address != 0) {
      Memory.copy(view.address, viewAt, VIEW_BYTES);
    }
    long out = state.out();
    int result =
        state.backend.cuTexObjectCreate(out, in, textureAt, view.address == 0 ? 0 : viewAt);
    finish(tag, result, out, false);
  }

  @Override
  public void surfaceCreate(
      int tag, long resourceAddress, long resourceBytes, boolean objectWanted) {
    Struct resource = new Struct(resourceAddress, resourceBytes);
    int refused = check(resource);
    long in = state.in();
    if (refused == 0) {
      refused = numbersToHandles(resource, in);
    }
    if (refused != 0) {
      state.reply(tag, refused);
      return;
    }
    long out = state.out();
    finish(tag, state.backend.cuSurfObjectCreate(out, in), out, true);
  }

  @Override
  public int textureDestroy(long object) {
    boolean known = objects.remove(new Key(state.current, false, object));
    return known ? state.backend.cuTexObjectDestroy(object) : CudaResult.INVALID_VALUE;
  }

  @Override
  public int surfaceDestroy(long object) {
    boolean known = objects.remove(new Key(state.current, true, object));
    return known ? state.backend.cuSurfObjectDestroy(object) : CudaResult.INVALID_VALUE;
  }

  /** The objects of a context go with it, where the backend does not see to that, too. */
  void forget(ContextState context) {
    objects.removeIf(key -> key.context == context);
  }

  private int check(Struct resource) {
    if (!state.current.exists()) {
      return CudaResult.INVALID_CONTEXT;
    }
    if (!resource.is(RESOURCE_BYTES)) {
      return CudaResult.INVALID_VALUE;
    }
    return objects.size() < MAX_OBJECTS ? 0 : CudaResult.OUT_OF_MEMORY;
  }

  /** Copies a resource with handles in place of numbers. */
  private int numbersToHandles(Struct resource, long to) {
    return numbersToHandles(state, resource.address, to);
  }

  /** The same for any part of the session. */
  static int numbersToHandles(SessionState state, long resource, long to) {
    Memory.copy(resource, to, RESOURCE_BYTES);
    int type = Memory.getInt(to);
    if (type != TYPE_ARRAY && type != TYPE_MIPMAPPED_ARRAY) {
      return 0;
    }
    long number = Memory.getLong(to + HANDLE_OFFSET);
    HandleTable table = type == TYPE_ARRAY ? state.arrays : state.mipmaps;
    long handle =
        number >= 0 && number <= Integer.MAX_VALUE
            ? table.get((int) number)
            : SessionServices.NO_HANDLE;
    Memory.putLong(to + HANDLE_OFFSET, handle);
    return SessionState.found(handle);
  }

  private void finish(int tag, int result, long out, boolean surface) {
    if (result == 0) {
      objects.add(new Key(state.current, surface, Memory.getLong(out)));
    }
    state.reply(tag, result, out, 8);
  }
}
