// SPDX-License-Identifier: Apache-2.0
package io.gpupool.soft.device.work;

import io.gpupool.soft.exec.launch.DeviceTime;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;

/** The loops of copies and fills, in pieces short enough not to hold up a garbage collection. */
public final class Copying {
  private static final long PIECE_BYTES = 4L << 20;

  private Copying() {}

  public static void copy(DeviceTime time, MemorySegment source, MemorySegment target) {
    long length = source.byteSize();
    if (source.isNative() && target.isNative() && overlap(source, target)) {
      MemorySegment.copy(source, 0, target, 0, length);
      return;
    }
    for (long at = 0; at < length; at += PIECE_BYTES) {
      MemorySegment.copy(source, at, target, at, Math.min(PIECE_BYTES, length - at));
      time.pass(DeviceTime.ALWAYS);
    }
  }

  /**
   * Repeats a value.
   *
   * @param elementBytes 1, 2 or 4; {@code target} is a multiple of it
   */
  public static void fill(DeviceTime time, MemorySegment target, int value, int elementBytes) {
    long length = target.byteSize();
    int low = value & 0xff;
    boolean uniform =
        elementBytes == 1
            || (value & 0xffff) == (low | low << 8)
                && (elementBytes == 2 || value >>> 16 == (value & 0xffff));
    if (uniform) {
      for (long at = 0; at < length; at += PIECE_BYTES) {
        target.asSlice(at, Math.min(PIECE_BYTES, length - at)).fill((byte) value);
        time.pass(DeviceTime.ALWAYS);
      }
      return;
    }
    if (elementBytes == 2) {
      target.set(ValueLayout.JAVA_SHORT_UNALIGNED, 0, (short) value);
    } else {
      target.set(ValueLayout.JAVA_INT_UNALIGNED, 0, value);
    }
    for (long done = elementBytes; done < length; ) {
      long piece = Math.min(Math.min(done, PIECE_BYTES), length - done);
      MemorySegment.copy(target, 0, target, done, piece);
      done += piece;
      time.pass(DeviceTime.ALWAYS);
    }
  }

  private static boolean overlap(MemorySegment one, MemorySegment other) {
    return one.asOverlappingSlice(other).isPresent();
  }
}
