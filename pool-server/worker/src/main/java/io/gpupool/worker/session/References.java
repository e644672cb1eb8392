// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker.session;

import io.gpupool.cuda.ReferenceOps;
import io.gpupool.cuda.SessionServices;
import io.gpupool.cuda.WireStruct;
import io.gpupool.worker.os.Memory;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.HashMap;
import java.util.Map;

/**
 * Texture and surface references of the session's modules, under the backend's own handles. What
 * belongs to them changes property by property, as programs set it. Used by the session's thread
 * alone.
 */
final class References implements ReferenceOps {
  private static final int MAX_NAME_BYTES = 64 << 10;

  /** CU_TRSA_OVERRIDE_FORMAT. */
  private static final int OVERRIDE_FORMAT = 1;

  /** In place of a CUresourcetype: the reference is bound to nothing any more. */
  private static final int NOTHING = -1;

  private final SessionState state;
  private final Map<Long, Reference> references = new HashMap<>();

  /** A reference is good as long as the module's number stands for the same module. */
  private record Reference(ContextState context, int module, Object owner, boolean surface) {
    boolean isOf(SessionState state) {
      return context == state.current && owner == state.modules.owner(module);
    }
  }

  References(SessionState state) {
    this.state = state;
  }

  @Override
  public void referenceFind(
      int tag, int module, long name, long nameBytes, int surface, boolean wanted) {
    long handle = state.modules.get(module);
    if (handle == SessionServices.NO_HANDLE || nameBytes == 0 || nameBytes > MAX_NAME_BYTES) {
      state.reply(tag, CudaResult.INVALID_VALUE);
      return;
    }
    references.values().removeIf(known -> known.owner != state.modules.owner(known.module));
    long out = state.out();
    int result;
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment text = arena.allocate(nameBytes + 1);
      Memory.copy(name, text.address(), nameBytes);
      result =
          surface == 0
              ? state.backend.cuModuleGetTexRef(out, handle, text.address())
              : state.backend.cuModuleGetSurfRef(out, handle, text.address());
    }
    if (result == 0) {
      references.put(
          Memory.getLong(out),
          new Reference(state.current, module, state.modules.owner(module), surface != 0));
    }
    state.reply(tag, result, out, 8);
  }

  @Override
  public int referenceSet(
      long reference,
      int property,
      int format,
      int channels,
      WireStruct resource,
      WireStruct texture) {
    if (!isKnown(reference, false) || !texture.is(Textures.TEXTURE_BYTES)) {
      return CudaResult.INVALID_VALUE;
    }
    return switch (property) {
      case 0 -> setResource(reference, resource);
      case 1 -> state.backend.cuTexRefSetFormat(reference, format, channels);
      case 2, 3, 4 -> {
        int dimension = property - 2;
        yield state.backend.cuTexRefSetAddressMode(
            reference, dimension, texture.i32(4L * dimension));
      }
      case 5 -> state.backend.cuTexRefSetFilterMode(reference, texture.i32(12));
      case 6 -> state.backend.cuTexRefSetFlags(reference, texture.i32(16));
      case 7 -> state.backend.cuTexRefSetMaxAnisotropy(reference, texture.i32(20));
      case 8 -> state.backend.cuTexRefSetMipmapFilterMode(reference, texture.i32(24));
      case 9 -> state.backend.cuTexRefSetMipmapLevelBias(reference, texture.f32(28));
      case 10 ->
          state.backend.cuTexRefSetMipmapLevelClamp(reference, texture.f32(32), texture.f32(36));
      case 11 -> {
        texture.copyNumbers(40, 16, state.in());
        yield state.backend.cuTexRefSetBorderColor(reference, state.in());
      }
      default -> CudaResult.INVALID_VALUE;
    };
  }

  @Override
  public int surfaceReferenceSet(long reference, int array) {
    long handle = state.arrays.get(array);
    if (!isKnown(reference, true) || handle == SessionServices.NO_HANDLE) {
      return CudaResult.INVALID_VALUE;
    }
    return state.backend.cuSurfRefSetArray(reference, handle, 0);
  }

  private boolean isKnown(long reference, boolean surface) {
    Reference known = references.get(reference);
    return known != null && known.surface == surface && known.isOf(state);
  }

  private int setResource(long reference, WireStruct given) {
    if (given.is(Resource.BYTES) && given.i32(0) == NOTHING) {
      return state.backend.cuTexRefSetAddress_v2(state.out(), reference, 0, 0);
    }
    try {
      return bind(reference, Resource.read(state, given));
    } catch (RefusedException e) {
      return e.result();
    }
  }

  private int bind(long reference, Resource resource) {
    return switch (resource.type()) {
      case Resource.ARRAY ->
          state.backend.cuTexRefSetArray(reference, resource.at(), OVERRIDE_FORMAT);
      case Resource.MIPMAPPED_ARRAY ->
          state.backend.cuTexRefSetMipmappedArray(reference, resource.at(), OVERRIDE_FORMAT);
      case Resource.LINEAR ->
          state.backend.cuTexRefSetAddress_v2(
              state.out(), reference, resource.at(), resource.first());
      default -> {
        // CUDA_ARRAY_DESCRIPTOR: width, height, format and channels.
        long description = state.in();
        Memory.putLong(description, resource.first());
        Memory.putLong(description + 8, resource.height());
        Memory.putInt(description + 16, resource.format());
        Memory.putInt(description + 20, resource.channels());
        yield state.backend.cuTexRefSetAddress2D_v3(
            reference, description, resource.at(), resource.pitchBytes());
      }
    };
  }
}
