// SPDX-License-Identifier: Apache-2.0
package io.gpupool.soft.exec.access;

import io.gpupool.soft.exec.block.ThreadBlock;
import io.gpupool.soft.exec.launch.DeviceFaultException;
import io.gpupool.soft.exec.launch.KernelFaultException;
import io.gpupool.soft.exec.memory.NativeMemory;
import io.gpupool.soft.tensor.TensorElement;
import io.gpupool.soft.tensor.TensorMap;
import java.lang.foreign.MemorySegment;

/**
 * One copy of a box between a tensor in global memory and the block's shared memory, as a tensor
 * map says. Made and used by the worker thread that runs the block; called by generated code.
 */
public final class TensorCopies {
  /** Shared memory of a box begins at a multiple of this. */
  private static final int SHARED_ALIGNMENT = 128;

  private static final int CHUNK = 16;

  /** The operation of a copy that reduces nothing. */
  public static final int STORE = -1;

  private final ThreadBlock block;

  /** The block in whose shared memory the box is. */
  private final ThreadBlock home;

  private final TensorMap map;
  private final TensorElement element;
  private final int[] start;
  private final long shared;

  private TensorCopies(
      ThreadBlock block, ThreadBlock home, TensorMap map, int[] start, long shared) {
    this.block = block;
    this.home = home;
    this.map = map;
    this.start = start;
    this.shared = shared;
    element = map.element();
  }

  /** The copy of one row of the box. */
  private interface Row {
    /**
     * Copies the row.
     *
     * @param global address of the row's first element, which the tensor may not have
     * @param first element of the row that the tensor has
     * @param end behind the last one that it has
     * @param at address in shared memory, before swizzling
     */
    void move(long global, int first, int end, long at);
  }

  /**
   * Copies a box to shared memory; elements that the tensor does not have become the map's fill.
   *
   * @param map generic address of the tensor map
   * @param start coordinates of the box, one for each dimension that the instruction names
   * @param to address in shared memory
   * @return bytes of the box
   */
  public static int load(ThreadBlock block, int thread, long map, int[] start, long to) {
    ThreadBlock home = ClusterMemory.home(block, to);
    return load(block, thread, map, start, home, ClusterMemory.offset(to));
  }

  /** Copies a box to the shared memory of a block of the same cluster. */
  static int load(ThreadBlock block, int thread, long map, int[] start, ThreadBlock home, long to) {
    TensorCopies copy = of(block, thread, map, start, home, to);
    copy.forEachRow(copy::loadRow);
    return (int) (copy.map.rows() * copy.map.rowBytes());
  }

  /**
   * Copies a box from shared memory, but for the elements that the tensor does not have.
   *
   * @param operation the operation of {@link Reductions} that combines each element with the
   *     tensor's, atomically; {@link #STORE} replaces the tensor's
   */
  public static void store(
      ThreadBlock block, int thread, long map, int[] start, long from, int operation) {
    TensorCopies copy = of(block, thread, map, start, block, from);
    copy.forEachRow((global, first, end, at) -> copy.storeRow(global, first, end, at, operation));
  }

  private static TensorCopies of(
      ThreadBlock block, int thread, long map, int[] start, ThreadBlock home, long shared) {
    long at = AddressTranslation.generic(block, thread, map, TensorMap.BYTES / 2);
    AddressTranslation.generic(block, thread, map + TensorMap.BYTES / 2, TensorMap.BYTES / 2);
    // Of a copy, which no other thread changes between the checks and the use.
    MemorySegment copy = MemorySegment.ofArray(new long[TensorMap.BYTES / Long.BYTES]);
    copy.copyFrom(NativeMemory.ALL.asSlice(at, TensorMap.BYTES));
    TensorMap found =
        TensorMap.read(copy)
            .filter(one -> one.rank() == start.length)
            .orElseThrow(() ->
                new DeviceFaultException(
                    KernelFaultException.ILLEGAL_INSTRUCTION,
                    "there is no tensor map of "
                        + start.length
                        + " dimensions at 0x"
                        + Long.toHexString(map)));
    AddressTranslation.ownShared(home, shared, SHARED_ALIGNMENT);
    if (found.rows() * found.rowBytes() > home.sharedBytes - shared) {
      throw AccessFaults.inSpace("shared", shared, found.rowBytes());
    }
    return new TensorCopies(block, home, found, start, shared);
  }

  private void forEachRow(Row row) {
    int[] index = new int[TensorMap.MAX_RANK];
    int count = map.count(0);
    int first = Math.clamp(-(long) start[0], 0, count);
    int end = Math.clamp(map.dim(0) - start[0], first, count);
    long rows = map.rows();
    long at = shared;
    for (long i = 0; i < rows; i++) {
      boolean inside = true;
      long global = map.address() + start[0] * map.stride(0);
      for (int d = 1; d < map.rank(); d++) {
        long coordinate = start[d] + (long) index[d] * map.step(d);
        inside &= coordinate >= 0 && coordinate < map.dim(d);
        global += coordinate * map.stride(d);
      }
      row.move(global, inside ? first : 0, inside ? end : 0, at);
      at += map.rowBytes();
      for (int d = 1; d < map.rank() && ++index[d] == map.count(d); d++) {
        index[d] = 0;
      }
    }
  }

  private void loadRow(long global, int first, int end, long at) {
    int bytes = element.bytes();
    checkGlobal(global, first, end);
    fill(at, 0, first);
    for (int i = first; i < end; ) {
      long place = map.swizzle().place(at + (long) i * bytes);
      long from = global + (long) i * bytes;
      if (!element.converts() && (place & CHUNK - 1) == 0 && (end - i) * bytes >= CHUNK) {
        long to = AddressTranslation.ownShared(home, place, CHUNK);
        NativeMemory.putLong(to, NativeMemory.getLong(from));
        NativeMemory.putLong(to + 8, NativeMemory.getLong(from + 8));
        i += CHUNK / bytes;
      } else {
        long bits = get(from);
        long to = AddressTranslation.ownShared(home, place, bytes);
        put(to, element.converts() ? element.converted((int) bits) : bits);
        i++;
      }
    }
    fill(at, end, map.count(0));
  }

  private void fill(long at, int first, int end) {
    for (int i = first; i < end; i++) {
      put(place(at + (long) i * element.bytes()), map.fillBits());
    }
  }

  private void storeRow(long global, int first, int end, long at, int operation) {
    int bytes = element.bytes();
    checkGlobal(global, first, end);
    for (int i = first; i < end; i++) {
      long bits = get(place(at + (long) i * bytes));
      long to = global + (long) i * bytes;
      if (operation == STORE) {
        put(to, bits);
      } else {
        Reductions.apply(element, to, bits, operation);
      }
    }
  }

  /** The native address in shared memory of what would lie at an address there. */
  private long place(long at) {
    return AddressTranslation.ownShared(home, map.swizzle().place(at), element.bytes());
  }

  private void checkGlobal(long global, int first, int end) {
    int bytes = element.bytes();
    if (first < end
        && !AddressTranslation.row(
            block, global + (long) first * bytes, bytes, end - first - 1, bytes)) {
      for (int i = first; i < end; i++) {
        AddressTranslation.global(block, global + (long) i * bytes, bytes);
      }
    }
  }

  private long get(long address) {
    return switch (element.bytes()) {
      case 1 -> NativeMemory.getByte(address);
      case 2 -> NativeMemory.getShort(address);
      case 4 -> NativeMemory.getInt(address);
      default -> NativeMemory.getLong(address);
    };
  }

  private void put(long address, long bits) {
    switch (element.bytes()) {
      case 1 -> NativeMemory.putByte(address, (int) bits);
      case 2 -> NativeMemory.putShort(address, (int) bits);
      case 4 -> NativeMemory.putInt(address, (int) bits);
      default -> NativeMemory.putLong(address, bits);
    }
  }
}
