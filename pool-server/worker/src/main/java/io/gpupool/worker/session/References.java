// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker.session;

import io.gpupool.cuda.ReferenceOps;
import io.gpupool.cuda.SessionServices;
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

  /** CUresourcetype; {@link #NOTHING} is none of CUDA's. */
  private static final int TYPE_LINEAR = 2;

  private static final int TYPE_PITCHED = 3;
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
      long resource,
      long resourceBytes,
      long texture,
      long textureBytes) {
    if (!isKnown(reference, false) || textureBytes != Textures.TEXTURE_BYTES) {
      return CudaResult.INVALID_VALUE;
    }
    return switch (property) {
      case 0 ->
          resourceBytes == Textures.RESOURCE_BYTES
              ? setResource(reference, resource)
              : CudaResult.INVALID_VALUE;
      case 1 -> state.backend.cuTexRefSetFormat(reference, format, channels);
      case 2, 3, 4 -> {
        int dimension = property - 2;
        yield state.backend.cuTexRefSetAddressMode(
            reference, dimension, Memory.getInt(texture + 4L * dimension));
      }
      case 5 -> state.backend.cuTexRefSetFilterMode(reference, Memory.getInt(texture + 12));
      case 6 -> state.backend.cuTexRefSetFlags(reference, Memory.getInt(texture + 16));
      case 7 -> state.backend.cuTexRefSetMaxAnisotropy(reference, Memory.getInt(texture + 20));
      case 8 -> state.backend.cuTexRefSetMipmapFilterMode(reference, Memory.getInt(texture + 24));
      case 9 -> state.backend.cuTexRefSetMipmapLevelBias(reference, real(texture + 28));
      case 10 ->
          state.backend.cuTexRefSetMipmapLevelClamp(
              reference, real(texture + 32), real(texture + 36));
      case 11 -> {
        Memory.copy(texture + 40, state.in(), 16);
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

  private int setResource(long reference, long given) {
    long resource = state.in();
    int refused = Textures.numbersToHandles(state, given, resource);
    if (refused != 0) {
      return refused;
    }
    long handle = Memory.getLong(resource + 8);
    return switch (Memory.getInt(resource)) {
      case Textures.TYPE_ARRAY ->
          state.backend.cuTexRefSetArray(reference, handle, OVERRIDE_FORMAT);
      case Textures.TYPE_MIPMAPPED_ARRAY ->
          state.backend.cuTexRefSetMipmappedArray(reference, handle, OVERRIDE_FORMAT);
      case TYPE_LINEAR ->
          state.backend.cuTexRefSetAddress_v2(
              state.out(), reference, handle, Memory.getLong(resource + 24));
      case TYPE_PITCHED -> {
        long pitchBytes = Memory.getLong(resource + 40);
        // Into the order of CUDA_ARRAY_DESCRIPTOR: width, height, format and channels.
        long formatAndChannels = Memory.getLong(resource + 16);
        Memory.putLong(resource, Memory.getLong(resource + 24));
        Memory.putLong(resource + 8, Memory.getLong(resource + 32));
        Memory.putLong(resource + 16, formatAndChannels);
        yield state.backend.cuTexRefSetAddress2D_v3(reference, resource, handle, pitchBytes);
      }
      case NOTHING -> state.backend.cuTexRefSetAddress_v2(state.out(), reference, 0, 0);
      default -> CudaResult.INVALID_VALUE;
    };
  }

  private static float real(long at) {
    return Float.intBitsToFloat(Memory.getInt(at));
  }
}
