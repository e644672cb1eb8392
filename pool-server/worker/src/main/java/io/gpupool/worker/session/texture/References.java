// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker.session.texture;

import io.gpupool.cuda.Backend;
import io.gpupool.cuda.CudaResult;
import io.gpupool.cuda.ReferenceOps;
import io.gpupool.cuda.ResourceType;
import io.gpupool.cuda.SessionServices;
import io.gpupool.cuda.WireStruct;
import io.gpupool.worker.os.Memory;
import io.gpupool.worker.session.call.CurrentCall;
import io.gpupool.worker.session.core.ContextState;
import io.gpupool.worker.session.core.HandleTables;
import io.gpupool.worker.session.core.RefusedException;
import io.gpupool.worker.session.quota.OwnedMemory;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.HashMap;
import java.util.Map;

/**
 * Texture and surface references of the session's modules, under numbers of the session's own: each
 * has the number of its module and its place among those that were asked for, so a session that is
 * made again elsewhere has the same. What belongs to them changes property by property, as programs
 * set it. Used by the session's thread alone.
 */
public final class References implements ReferenceOps {
  private static final int MAX_NAME_BYTES = 64 << 10;

  /** CU_TRSA_OVERRIDE_FORMAT. */
  private static final int OVERRIDE_FORMAT = 1;

  /** In place of a CUresourcetype: the reference is bound to nothing any more. */
  private static final int NOTHING = -1;

  private final Backend backend;
  private final CurrentCall call;
  private final HandleTables handles;
  private final OwnedMemory owned;
  private final Map<Long, Reference> references = new HashMap<>();

  /** A reference is good as long as the module's number stands for the same module. */
  private record Reference(
      ContextState context, int module, Object owner, boolean surface, long handle) {}

  public References(Backend backend, CurrentCall call, HandleTables handles, OwnedMemory owned) {
    this.backend = backend;
    this.call = call;
    this.handles = handles;
    this.owned = owned;
  }

  @Override
  public void referenceFind(
      int tag, int module, long name, long nameBytes, int surface, boolean wanted) {
    long handle = handles.modules().get(module);
    if (handle == SessionServices.NO_HANDLE || nameBytes == 0 || nameBytes > MAX_NAME_BYTES) {
      call.reply(tag, CudaResult.INVALID_VALUE);
      return;
    }
    references.values().removeIf(known -> known.owner != handles.modules().owner(known.module));
    long out = call.out();
    int result;
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment text = arena.allocate(nameBytes + 1);
      Memory.copy(name, text.address(), nameBytes);
      result =
          surface == 0
              ? backend.cuModuleGetTexRef(out, handle, text.address())
              : backend.cuModuleGetSurfRef(out, handle, text.address());
    }
    if (result == 0) {
      Object owner = handles.modules().ownerOf(module);
      Memory.putLong(
          out,
          number(new Reference(call.context(), module, owner, surface != 0, Memory.getLong(out))));
    }
    call.reply(tag, result, out, 8);
  }

  /** Returns a reference's number, a new one if it was not asked for before. */
  private long number(Reference reference) {
    long ofModule = 0;
    for (Map.Entry<Long, Reference> known : references.entrySet()) {
      if (known.getValue().equals(reference)) {
        return known.getKey();
      }
      ofModule += known.getValue().module == reference.module ? 1 : 0;
    }
    long number = ((long) reference.module << Integer.SIZE) + ofModule + 1;
    references.put(number, reference);
    return number;
  }

  @Override
  public int referenceSet(
      long reference,
      int property,
      int format,
      int channels,
      WireStruct resource,
      WireStruct texture) {
    long handle = handle(reference, false);
    if (handle == SessionServices.NO_HANDLE || !texture.is(Textures.TEXTURE_BYTES)) {
      return CudaResult.INVALID_VALUE;
    }
    return switch (property) {
      case 0 -> setResource(handle, resource);
      case 1 -> backend.cuTexRefSetFormat(handle, format, channels);
      case 2, 3, 4 -> {
        int dimension = property - 2;
        yield backend.cuTexRefSetAddressMode(handle, dimension, texture.i32(4L * dimension));
      }
      case 5 -> backend.cuTexRefSetFilterMode(handle, texture.i32(12));
      case 6 -> backend.cuTexRefSetFlags(handle, texture.i32(16));
      case 7 -> backend.cuTexRefSetMaxAnisotropy(handle, texture.i32(20));
      case 8 -> backend.cuTexRefSetMipmapFilterMode(handle, texture.i32(24));
      case 9 -> backend.cuTexRefSetMipmapLevelBias(handle, texture.f32(28));
      case 10 -> backend.cuTexRefSetMipmapLevelClamp(handle, texture.f32(32), texture.f32(36));
      case 11 -> {
        texture.copyNumbers(40, 16, call.in());
        yield backend.cuTexRefSetBorderColor(handle, call.in());
      }
      default -> CudaResult.INVALID_VALUE;
    };
  }

  @Override
  public int surfaceReferenceSet(long reference, int array) {
    long handle = handle(reference, true);
    long bound = handles.arrays().get(array);
    if (handle == SessionServices.NO_HANDLE || bound == SessionServices.NO_HANDLE) {
      return CudaResult.INVALID_VALUE;
    }
    return backend.cuSurfRefSetArray(handle, bound, 0);
  }

  /** Returns the backend's handle of a reference; NO_HANDLE if it is none of this kind here. */
  private long handle(long reference, boolean surface) {
    Reference known = references.get(reference);
    return known != null
            && known.surface == surface
            && known.context == call.context()
            && known.owner == handles.modules().owner(known.module)
        ? known.handle
        : SessionServices.NO_HANDLE;
  }

  private int setResource(long handle, WireStruct given) {
    if (given.is(Resource.BYTES) && given.i32(0) == NOTHING) {
      return backend.cuTexRefSetAddress_v2(call.out(), handle, 0, 0);
    }
    try {
      return bind(handle, Resource.read(handles, owned, given));
    } catch (RefusedException e) {
      return e.result();
    }
  }

  private int bind(long handle, Resource resource) {
    return switch (resource.type()) {
      case ResourceType.ARRAY -> backend.cuTexRefSetArray(handle, resource.at(), OVERRIDE_FORMAT);
      case ResourceType.MIPMAPPED_ARRAY ->
          backend.cuTexRefSetMipmappedArray(handle, resource.at(), OVERRIDE_FORMAT);
      case ResourceType.LINEAR ->
          backend.cuTexRefSetAddress_v2(call.out(), handle, resource.at(), resource.first());
      default -> {
        // CUDA_ARRAY_DESCRIPTOR: width, height, format and channels.
        long description = call.in();
        Memory.putLong(description, resource.first());
        Memory.putLong(description + 8, resource.height());
        Memory.putInt(description + 16, resource.format());
        Memory.putInt(description + 20, resource.channels());
        yield backend.cuTexRefSetAddress2D_v3(
            handle, description, resource.at(), resource.pitchBytes());
      }
    };
  }
}
