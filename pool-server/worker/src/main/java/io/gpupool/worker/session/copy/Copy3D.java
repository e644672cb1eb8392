// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker.session.copy;

import io.gpupool.cuda.CopyExtent;
import io.gpupool.cuda.CopyRegion;
import io.gpupool.cuda.Memcpy3DLayout;
import io.gpupool.cuda.MemoryType;
import io.gpupool.worker.os.Memory;
import io.gpupool.worker.session.core.HandleTable;
import io.gpupool.worker.session.core.HandleTables;
import io.gpupool.worker.session.quota.OwnedMemory;

/**
 * Three-dimensional copy and its transfer over the call stream: as a whole, or in pieces of
 * consecutive rows.
 *
 * @param width in bytes
 * @param height in rows
 * @param depth in slices
 */
record Copy3D(long width, long height, long depth) {
  private static final long MAX_BYTES = OwnedMemory.MAX_BYTES;

  /** From a field of the source to the same field of the destination. */
  private static final int DESTINATION = Memcpy3DLayout.DST_X_IN_BYTES;

  /** The copy of an extent from the call stream. */
  static Copy3D of(CopyExtent extent) {
    return new Copy3D(extent.width(), extent.height(), extent.depth());
  }

  /**
   * Returns whether it is one that a copy can be made of: of 1 byte or more, and not absurdly
   * large.
   */
  boolean isGood() {
    return width > 0
        && height > 0
        && depth > 0
        && width <= MAX_BYTES
        && height <= MAX_BYTES / width
        && depth <= MAX_BYTES / width / height;
  }

  long lengthBytes() {
    return width * height * depth;
  }

  /**
   * One end of a copy on the device: an array, or memory.
   *
   * @param array the backend's handle; 0: memory
   * @param address of the first byte, in memory
   * @param x place of the first byte, in an array; in bytes
   * @param z slice or layer
   * @param pitch bytes from row to row, in memory
   * @param rows from slice to slice, in memory
   */
  record Side(long array, long address, long x, long y, long z, long pitch, long rows) {
    /** Takes a region from the call stream, with the backend's array in place of its number. */
    static Side of(CopyRegion region, HandleTables handles) {
      return region.array() == 0
          ? new Side(0, region.address(), 0, 0, 0, region.pitch(), region.rows())
          : new Side(
              handles.arrays().get(region.array()), 0, region.x(), region.y(), region.z(), 0, 0);
    }

    /** The result of looking its array up. */
    int found() {
      return HandleTable.found(array);
    }

    /** Returns whether a copy there is sound, and the memory is the session's. */
    boolean takes(Copy3D box, OwnedMemory owned) {
      return isGood(box) && isOwned(owned, box);
    }

    /** Returns whether the memory is the session's; an array is, by its number. */
    boolean isOwned(OwnedMemory owned, Copy3D box) {
      return array != 0 || owned.owns(address, spanBytes(box));
    }

    /**
     * Returns whether a box there can be worked out: what is of any sense at all, the backend
     * judges.
     */
    boolean isGood(Copy3D box) {
      if (array != 0) {
        return isPlace(x) && isPlace(y) && isPlace(z);
      }
      return pitch >= 0
          && rows >= 0
          && pitch <= MAX_BYTES / box.height
          && pitch <= MAX_BYTES / Math.max(1, rows)
          && pitch * rows <= MAX_BYTES / box.depth;
    }

    /** From the first byte of a good box in memory to behind its last. */
    long spanBytes(Copy3D box) {
      return ((box.depth - 1) * rows + box.height - 1) * pitch + box.width;
    }

    private static boolean isPlace(long place) {
      return place >= 0 && place <= MAX_BYTES;
    }

    /** The end of a piece that begins somewhere in the box. */
    Side at(long pieceX, long pieceY, long pieceZ) {
      return array == 0
          ? new Side(0, address + (pieceZ * rows + pieceY) * pitch + pieceX, 0, 0, 0, pitch, rows)
          : new Side(array, 0, x + pieceX, y + pieceY, z + pieceZ, 0, 0);
    }

    private void write(long to) {
      Memory.putInt(
          to + Memcpy3DLayout.SRC_MEMORY_TYPE, array == 0 ? MemoryType.DEVICE : MemoryType.ARRAY);
      if (array == 0) {
        Memory.putLong(to + Memcpy3DLayout.SRC_DEVICE, address);
        Memory.putLong(to + Memcpy3DLayout.SRC_PITCH, pitch);
        Memory.putLong(to + Memcpy3DLayout.SRC_HEIGHT, rows);
      } else {
        Memory.putLong(to + Memcpy3DLayout.SRC_X_IN_BYTES, x);
        Memory.putLong(to + Memcpy3DLayout.SRC_Y, y);
        Memory.putLong(to + Memcpy3DLayout.SRC_Z, z);
        Memory.putLong(to + Memcpy3DLayout.SRC_ARRAY, array);
      }
    }
  }

  /** Takes the pieces of a box in their order. */
  interface Pieces {
    /**
     * Takes a piece.
     *
     * @param offset of its first byte among the bytes of the box, row after row
     * @return CUresult; another one than 0 ends the matter
     */
    int take(long x, long y, long z, Copy3D piece, long offset);
  }

  /** Cuts the box into pieces of at most so many bytes: slices, or else rows, or parts of a row. */
  int cut(long mostBytes, Pieces pieces) {
    long offset = 0;
    for (long z = 0; z < depth; ) {
      long slices = 1;
      for (long y = 0; y < height; ) {
        long rows = 1;
        for (long x = 0; x < width; ) {
          Copy3D piece;
          if (width > mostBytes) {
            piece = new Copy3D(Math.min(mostBytes, width - x), 1, 1);
          } else if (width * height > mostBytes || y > 0) {
            rows = Math.min(mostBytes / width, height - y);
            piece = new Copy3D(width, rows, 1);
          } else {
            rows = height;
            slices = Math.min(mostBytes / (width * height), depth - z);
            piece = new Copy3D(width, height, slices);
          }
          int result = pieces.take(x, y, z, piece, offset);
          if (result != 0) {
            return result;
          }
          x += piece.width;
          offset += piece.lengthBytes();
        }
        y += rows;
      }
      z += slices;
    }
    return 0;
  }

  /** Writes the description of a copy within the device. */
  long describe(long memory, Side to, Side from) {
    Memory.clear(memory, Memcpy3DLayout.BYTES);
    from.write(memory);
    to.write(memory + DESTINATION);
    return extent(memory);
  }

  /** Writes the description of a copy from the host, whose rows lie one after the other. */
  long describeFromHost(long memory, Side to, long host) {
    Memory.clear(memory, Memcpy3DLayout.BYTES);
    writeHost(memory, host);
    to.write(memory + DESTINATION);
    return extent(memory);
  }

  /** Writes the description of a copy to the host, whose rows lie one after the other. */
  long describeToHost(long memory, long host, Side from) {
    Memory.clear(memory, Memcpy3DLayout.BYTES);
    from.write(memory);
    writeHost(memory + DESTINATION, host);
    return extent(memory);
  }

  private void writeHost(long to, long host) {
    Memory.putInt(to + Memcpy3DLayout.SRC_MEMORY_TYPE, MemoryType.HOST);
    Memory.putLong(to + Memcpy3DLayout.SRC_HOST, host);
    Memory.putLong(to + Memcpy3DLayout.SRC_PITCH, width);
    Memory.putLong(to + Memcpy3DLayout.SRC_HEIGHT, height);
  }

  private long extent(long memory) {
    Memory.putLong(memory + Memcpy3DLayout.WIDTH_IN_BYTES, width);
    Memory.putLong(memory + Memcpy3DLayout.HEIGHT, height);
    Memory.putLong(memory + Memcpy3DLayout.DEPTH, depth);
    return memory;
  }
}
