// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker.nvidia;

import io.gpupool.worker.nvidia.memory.MovableMemory;
import io.gpupool.worker.os.Memory;
import java.lang.foreign.Arena;
import org.jspecify.annotations.Nullable;

/**
 * The mappings and the modules of a session that may move, of whose memory note is taken: that of
 * its own mappings lies where it has mapped it, that of variables where the driver has placed them.
 */
abstract class NvidiaModules extends NvidiaMovable {
  // CUdevice_attribute
  private static final int CAPABILITY_MAJOR = 75;
  private static final int CAPABILITY_MINOR = 76;

  NvidiaModules(String libnvml, long contextBytes, GpuGate.Limits limits) {
    super(libnvml, contextBytes, limits);
  }

  // Mappings. Blocks of movable memory are mapped by these as well, and are noted elsewhere.

  @Override
  public int cuMemMap(long ptr, long size, long offset, long handle, long flags) {
    int result = super.cuMemMap(ptr, size, offset, handle, flags);
    MovableMemory mine = noting(result);
    if (mine != null) {
      mine.mapped(ptr, size);
    }
    return result;
  }

  @Override
  public int cuMemUnmap(long ptr, long size) {
    MovableMemory mine = noting(0);
    if (mine == null) {
      return super.cuMemUnmap(ptr, size);
    }
    synchronized (mine) {
      int result = super.cuMemUnmap(ptr, size);
      if (result == 0) {
        mine.unmapped(ptr, size);
      }
      return result;
    }
  }

  @Override
  public int cuMemSetAccess(long ptr, long size, long desc, long count) {
    int result = super.cuMemSetAccess(ptr, size, desc, count);
    MovableMemory mine = noting(result);
    if (mine != null && Memory.getInt(desc + DriverBlocks.ACCESS_DEVICE) == mine.gpu()) {
      mine.accessSet(ptr, size, Memory.getInt(desc + DriverBlocks.ACCESS_FLAGS));
    }
    return result;
  }

  private @Nullable MovableMemory noting(int result) {
    return result == 0 ? movable() : null;
  }

  @Override
  public int loadModule(
      long module, long image, long imageBytes, int numOptions, long options, long optionValues) {
    int result = super.loadModule(module, image, imageBytes, numOptions, options, optionValues);
    MovableMemory mine = noting(result);
    if (mine != null) {
      long context = contexts().home(currentContext(), mine.gpu());
      int capability = capability(mine.gpu());
      mine.loaded(context, Memory.getLong(module), image, imageBytes, capability);
    }
    return result;
  }

  private int capability(int gpu) {
    try (Arena arena = Arena.ofConfined()) {
      long out = arena.allocate(Long.BYTES, Long.BYTES).address();
      int major = cuDeviceGetAttribute(out, CAPABILITY_MAJOR, gpu) == 0 ? Memory.getInt(out) : 0;
      return cuDeviceGetAttribute(out, CAPABILITY_MINOR, gpu) == 0
          ? 10 * major + Memory.getInt(out)
          : 10 * major;
    }
  }

  @Override
  public int cuModuleUnload(long hmod) {
    MovableMemory mine = movable();
    if (mine != null) {
      // Before the memory goes.
      mine.unloaded(hmod);
    }
    return super.cuModuleUnload(hmod);
  }
}
