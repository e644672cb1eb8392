// SPDX-License-Identifier: Apache-2.0
package io.gpupool.soft.exec.access;

import io.gpupool.soft.exec.block.ThreadBlock;
import io.gpupool.soft.exec.launch.DeviceFaultException;
import io.gpupool.soft.exec.launch.KernelFaultException;
import io.gpupool.soft.exec.memory.Atomics;
import io.gpupool.soft.exec.memory.NativeMemory;
import io.gpupool.soft.memory.MemoryMap;
import io.gpupool.soft.texture.Geometry;
import io.gpupool.soft.texture.ReferenceTable;
import io.gpupool.soft.texture.Surface;
import io.gpupool.soft.texture.Texels;
import io.gpupool.soft.texture.Texture;

/**
 * Texture and surface instructions. The elements read lie in the thread block until the next such
 * instruction. Called by generated code.
 */
public final class Textures {
  /** What a surface instruction does outside its surface. */
  public static final int TRAP = 0;

  public static final int CLAMP = 1;
  public static final int ZERO = 2;

  /** What can be asked of a texture or surface. */
  public static final int WIDTH = 0;

  public static final int HEIGHT = 1;
  public static final int DEPTH = 2;
  public static final int LAYERS = 3;
  public static final int LEVELS = 4;
  public static final int SAMPLES = 5;
  public static final int NORMALIZED = 6;

  private Textures() {}

  /** The element at integer coordinates. */
  public static void fetch(
      ThreadBlock block, long texture, int geometry, int layer, int x, int y, int z, int level) {
    texture(block, texture).fetch(Geometry.of(geometry), layer, x, y, z, level, block.sample);
  }

  /** What filtering makes of the elements around real coordinates. */
  public static void sample(
      ThreadBlock block,
      long texture,
      int geometry,
      int layer,
      float x,
      float y,
      float z,
      float level) {
    texture(block, texture).sample(Geometry.of(geometry), layer, x, y, z, level, block.sample);
  }

  /** As {@link #sample}; the level follows from how the coordinates change along two axes. */
  public static void sampleWithGradient(
      ThreadBlock block,
      long texture,
      int geometry,
      int layer,
      float x,
      float y,
      float z,
      float firstX,
      float firstY,
      float firstZ,
      float secondX,
      float secondY,
      float secondZ) {
    texture(block, texture)
        .sampleWithGradient(
            Geometry.of(geometry),
            layer,
            new float[] {x, y, z},
            new float[] {firstX, firstY, firstZ},
            new float[] {secondX, secondY, secondZ},
            block.sample);
  }

  /** One channel of the four elements around real coordinates. */
  public static void gather(
      ThreadBlock block,
      long texture,
      int geometry,
      int layer,
      float x,
      float y,
      float z,
      int channel) {
    texture(block, texture).gather(Geometry.of(geometry), layer, x, y, z, channel, block.sample);
  }

  /** A channel of what was read: bits of a float, or an integer. */
  public static int channel(ThreadBlock block, int index) {
    return block.sample.channel(index);
  }

  /** A channel of what was read, as bits of a half. */
  public static int half(ThreadBlock block, int index) {
    return Float.floatToFloat16(Float.intBitsToFloat(block.sample.channel(index))) & 0xffff;
  }

  /** Two channels of what was read, as bits of halves. */
  public static int halves(ThreadBlock block, int index) {
    return half(block, index) | half(block, index + 1) << 16;
  }

  /** A property of a texture, extents being those of a level. */
  public static int query(ThreadBlock block, long texture, int level, int what) {
    Texture found = texture(block, texture);
    Texels texels = found.level(level);
    return switch (what) {
      case WIDTH -> texels.width();
      case HEIGHT -> texels.height();
      case DEPTH -> texels.depth();
      case LAYERS -> found.layers();
      case LEVELS -> found.levelCount();
      case SAMPLES -> 1;
      default -> found.normalizedCoordinates() ? 1 : 0;
    };
  }

  /** A property of a surface. */
  public static int querySurface(ThreadBlock block, long surface, int what) {
    Texels texels = surface(block, surface).texels();
    return switch (what) {
      case WIDTH -> texels.width();
      case HEIGHT -> texels.height();
      default -> texels.depth();
    };
  }

  /** Reads elements of 1, 2, 4 or 8 bytes from a surface. */
  public static void load(
      ThreadBlock block,
      long surface,
      int geometry,
      int layer,
      int x,
      int y,
      int z,
      int elementBytes,
      int count,
      int outside) {
    long at = place(block, surface, geometry, layer, x, y, z, elementBytes * count, outside);
    for (int i = 0; i < count; i++) {
      long from = at + (long) i * elementBytes;
      block.words[i] =
          at == 0
              ? 0
              : switch (elementBytes) {
                case 1 -> NativeMemory.getByte(from) & 0xff;
                case 2 -> NativeMemory.getShort(from) & 0xffff;
                case 4 -> NativeMemory.getInt(from) & 0xffff_ffffL;
                default -> NativeMemory.getLong(from);
              };
    }
  }

  /** An element that {@link #load} has read, extended with zeros. */
  public static long word(ThreadBlock block, int index) {
    return block.words[index];
  }

  /** Hands over an element for {@link #store}. */
  public static void setWord(ThreadBlock block, long value, int index) {
    block.words[index] = value;
  }

  /** Writes elements of 1, 2, 4 or 8 bytes to a surface. */
  public static void store(
      ThreadBlock block,
      long surface,
      int geometry,
      int layer,
      int x,
      int y,
      int z,
      int elementBytes,
      int count,
      int outside) {
    long at = place(block, surface, geometry, layer, x, y, z, elementBytes * count, outside);
    for (int i = 0; i < count && at != 0; i++) {
      long to = at + (long) i * elementBytes;
      long value = block.words[i];
      switch (elementBytes) {
        case 1 -> NativeMemory.putByte(to, (int) value);
        case 2 -> NativeMemory.putShort(to, (int) value);
        case 4 -> NativeMemory.putInt(to, (int) value);
        default -> NativeMemory.putLong(to, value);
      }
    }
  }

  /**
   * Combines an element of a surface with the first word of the thread block, atomically.
   *
   * @param operation of {@link Atomics}
   */
  public static void reduce(
      ThreadBlock block,
      long surface,
      int geometry,
      int layer,
      int x,
      int y,
      int z,
      int elementBytes,
      int operation,
      int outside) {
    long at = place(block, surface, geometry, layer, x, y, z, elementBytes, outside);
    if (at == 0) {
      return;
    }
    if (elementBytes == 8) {
      Atomics.int64(at, block.words[0], operation);
    } else {
      Atomics.int32(at, (int) block.words[0], operation);
    }
  }

  /** The native address of a place in a surface; 0: it is outside, and that is no fault. */
  private static long place(
      ThreadBlock block,
      long surface,
      int geometry,
      int layer,
      int x,
      int y,
      int z,
      int bytes,
      int outside) {
    Surface found = surface(block, surface);
    if ((x & bytes - 1) != 0) {
      throw new DeviceFaultException(
          KernelFaultException.MISALIGNED_ADDRESS,
          "surface access of " + bytes + " bytes at byte " + x + " of a row");
    }
    long offset = found.offset(Geometry.of(geometry), layer, x, y, z, bytes, outside == CLAMP);
    if (offset != Surface.OUTSIDE) {
      return found.texels().address(offset, bytes);
    }
    if (outside == TRAP) {
      throw new DeviceFaultException(
          KernelFaultException.LAUNCH_FAILED,
          "surface access of "
              + bytes
              + " bytes at (byte "
              + x
              + ", "
              + y
              + ", "
              + z
              + "), layer "
              + layer
              + ", which is outside");
    }
    return 0;
  }

  private static Texture texture(ThreadBlock block, long value) {
    Texture found = find(block, value, Texture.class, "texture");
    requireLive(block, found.level(0));
    return found;
  }

  private static Surface surface(ThreadBlock block, long value) {
    Surface found = find(block, value, Surface.class, "surface");
    requireLive(block, found.texels());
    return found;
  }

  /** Of the value of an object, or of the address of a reference's symbol. */
  private static <T> T find(ThreadBlock block, long value, Class<T> type, String what) {
    T found = block.services().textures().find(value, type);
    if (found != null) {
      return found;
    }
    Object bound = block.services().references().find(value);
    if (type.isInstance(bound)) {
      return type.cast(bound);
    }
    String why =
        bound instanceof ReferenceTable.Unusable(String reason)
            ? "the " + what + " reference cannot be used: " + reason
            : "0x" + Long.toHexString(value) + " is no " + what + " object or bound reference";
    throw new DeviceFaultException(KernelFaultException.ILLEGAL_ADDRESS, why);
  }

  private static void requireLive(ThreadBlock block, Texels texels) {
    long offset = texels.address(0, 0) - block.memoryBase;
    boolean dead =
        Long.compareUnsigned(offset, block.memoryBytes) < 0
            && NativeMemory.getByte(block.granules + (offset >>> MemoryMap.GRANULE_SHIFT)) == 0;
    if (dead || texels.isGone()) {
      throw new DeviceFaultException(
          KernelFaultException.ILLEGAL_ADDRESS,
          "access of a texture or surface whose memory was freed");
    }
  }
}
