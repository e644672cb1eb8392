// SPDX-License-Identifier: Apache-2.0
package io.gpupool.soft.device.array;

import io.gpupool.soft.CudaStatus;
import io.gpupool.soft.GpuException;
import io.gpupool.soft.device.context.SoftContext;
import io.gpupool.soft.device.spec.ArrayShape;
import io.gpupool.soft.device.spec.TextureLimits;
import java.util.ArrayList;
import java.util.List;

/** A mipmapped array: levels, each of half the size of the one before. Any thread may use it. */
public final class SoftMipmap {
  /** Levels begin at multiples of this. */
  private static final int ALIGNMENT_BYTES = 512;

  private final SoftContext context;
  private final ArrayShape shape;
  private final long address;
  private final List<SoftArray> levels;
  private boolean destroyed;

  private SoftMipmap(SoftContext context, ArrayShape shape, long address, List<SoftArray> levels) {
    this.context = context;
    this.shape = shape;
    this.address = address;
    this.levels = List.copyOf(levels);
  }

  /**
   * Makes the levels; their contents are arbitrary.
   *
   * @param levelCount more than there can be counts as all there can be
   * @throws GpuException INVALID_VALUE for no level or too wide a one, OUT_OF_MEMORY
   */
  public static SoftMipmap create(SoftContext context, ArrayShape shape, int levelCount) {
    context.requireUsable();
    if (levelCount < 1
        || shape.width() > TextureLimits.MIPMAPPED_SIDE
        || shape.height() > TextureLimits.MIPMAPPED_SIDE) {
      throw new GpuException(
          CudaStatus.INVALID_VALUE, levelCount + " levels of a mipmapped array of " + shape);
    }
    int count = Math.min(levelCount, shape.mostLevels());
    long sum = 0;
    List<Long> offsets = new ArrayList<>();
    for (int level = 0; level < count; level++) {
      offsets.add(sum);
      sum += shape.level(level).lengthBytes() + ALIGNMENT_BYTES - 1 & -ALIGNMENT_BYTES;
    }
    long address = context.device().allocate(sum, context.moduleData());
    List<SoftArray> levels = new ArrayList<>();
    for (int level = 0; level < count; level++) {
      levels.add(SoftArray.level(context, shape.level(level), address + offsets.get(level)));
    }
    return new SoftMipmap(context, shape, address, levels);
  }

  public SoftContext context() {
    return context;
  }

  public ArrayShape shape() {
    return shape;
  }

  public List<SoftArray> levels() {
    return levels;
  }

  /**
   * A level.
   *
   * @throws GpuException INVALID_VALUE if there is none
   */
  public SoftArray level(int level) {
    if (level < 0 || level >= levels.size()) {
      throw new GpuException(
          CudaStatus.INVALID_VALUE, "there is no level " + level + " of " + levels.size());
    }
    return levels.get(level);
  }

  /**
   * Ends it with its levels; their memory is freed when the context's work is done.
   *
   * @throws GpuException INVALID_HANDLE if it has ended
   */
  public void destroy() {
    synchronized (this) {
      if (destroyed) {
        throw new GpuException(CudaStatus.INVALID_HANDLE, "the mipmapped array is destroyed");
      }
      destroyed = true;
    }
    context.freeWhenDone(address, () -> levels.forEach(level -> level.texels().release()));
  }
}
