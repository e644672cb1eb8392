// SPDX-License-Identifier: Apache-2.0
package io.gpupool.soft.exec.access;

import io.gpupool.soft.exec.block.ThreadBlock;
import io.gpupool.soft.exec.launch.DeviceFaultException;
import io.gpupool.soft.exec.launch.KernelFaultException;
import io.gpupool.soft.exec.memory.NativeMemory;
import io.gpupool.soft.memory.MemoryMap;

/**
 * The translation of the addresses that device code uses into native ones, after a check that an
 * access of some power-of-two width, {@value MemoryMap#GRANULE_BYTES} bytes at most, is allowed
 * there. Called by generated code.
 *
 * <p>Global addresses are native addresses. Shared, local and parameter memory have addresses from
 * 0 in their own space, and generic addresses in windows of 4 GiB each that hold nothing else.
 */
public final class AddressTranslation {
  public static final long SHARED_WINDOW = 0x0100_0000_0000L;
  public static final long LOCAL_WINDOW = 0x0101_0000_0000L;
  public static final long PARAM_WINDOW = 0x0102_0000_0000L;

  private static final int WINDOW_SHIFT = 32;

  private AddressTranslation() {}

  public static long global(ThreadBlock block, long address, int bytes) {
    long offset = address - block.memoryBase;
    if (Long.compareUnsigned(offset, block.memoryBytes) >= 0
        || (address & (bytes - 1)) != 0
        || NativeMemory.getByte(block.granules + (offset >>> MemoryMap.GRANULE_SHIFT)) == 0) {
      boolean elsewhere = (address & (bytes - 1)) == 0 && block.isLiveElsewhere(address, bytes);
      if (!elsewhere) {
        throw AccessFaults.global(block, address, bytes);
      }
    }
    return address;
  }

  /**
   * Whether all accesses of a row of threads are allowed, each some way from the one before.
   *
   * @param address of the first
   * @param slope bytes from one access to the next, a multiple of {@code bytes}
   * @param steps accesses behind the first
   * @param bytes of each access, a power of two
   */
  public static boolean row(ThreadBlock block, long address, long slope, int steps, int bytes) {
    long first = slope < 0 ? address + slope * steps : address;
    long length = Math.abs(slope) * steps + bytes;
    long offset = first - block.memoryBase;
    if ((address & (bytes - 1)) != 0
        || Long.compareUnsigned(offset, block.memoryBytes) >= 0
        || length > block.memoryBytes - offset) {
      return false;
    }
    long last = offset + length - 1 >>> MemoryMap.GRANULE_SHIFT;
    for (long granule = offset >>> MemoryMap.GRANULE_SHIFT; granule <= last; granule++) {
      if (NativeMemory.getByte(block.granules + granule) == 0) {
        return false;
      }
    }
    return true;
  }

  /** Whether a number that grows evenly along a row of threads stays below 2^31, or above -2^31. */
  public static boolean staysSigned(int value, long slope, int steps) {
    long last = value + slope * steps;
    return last == (int) last;
  }

  /** As above for a number without sign: whether it stays from 0 to 2^32. */
  public static boolean staysUnsigned(int value, long slope, int steps) {
    return Integer.toUnsignedLong(value) + slope * steps >>> 32 == 0;
  }

  /** Whether an access is misaligned, or not all of it lies in a space of so many bytes. */
  private static boolean isOutside(long address, long spaceBytes, int bytes) {
    return address < 0 || address > spaceBytes - bytes || (address & bytes - 1) != 0;
  }

  public static long shared(ThreadBlock block, int address, int bytes) {
    return shared(block, address & 0xFFFF_FFFFL, bytes);
  }

  public static long shared(ThreadBlock block, long address, int bytes) {
    if (isOutside(address, block.sharedBytes, bytes)) {
      return sharedByRank(block, address, bytes);
    }
    return block.shared + address;
  }

  /** An address of the cluster's shared memory may be one of the block's own. */
  private static long sharedByRank(ThreadBlock block, long address, int bytes) {
    if (address >>> WINDOW_SHIFT != 0
        || ClusterMemory.rank(block, address) != block.clusterRank()) {
      throw AccessFaults.inSpace("shared", address, bytes);
    }
    return ownShared(block, ClusterMemory.offset(address), bytes);
  }

  /** An access by the offset in a block's shared memory. */
  static long ownShared(ThreadBlock block, long offset, int bytes) {
    if (isOutside(offset, block.sharedBytes, bytes)) {
      throw AccessFaults.inSpace("shared", offset, bytes);
    }
    return block.shared + offset;
  }

  /** Shared memory of any block of the cluster. */
  public static long sharedCluster(ThreadBlock block, long address, int bytes) {
    if (isOutside(address, block.sharedBytes, bytes)) {
      return ClusterMemory.check(block, address, bytes);
    }
    return block.shared + address;
  }

  public static long local(ThreadBlock block, int thread, long address, int bytes) {
    if (isOutside(address, block.localBytes, bytes)) {
      throw AccessFaults.inSpace("local", address, bytes);
    }
    return block.local + thread * block.localStride + address;
  }

  public static long param(ThreadBlock block, long address, int bytes) {
    if (isOutside(address, block.paramBytes, bytes)) {
      throw AccessFaults.inSpace("parameter", address, bytes);
    }
    return block.params + address;
  }

  public static long generic(ThreadBlock block, int thread, long address, int bytes) {
    long offset = address - block.memoryBase;
    if (Long.compareUnsigned(offset, block.memoryBytes) < 0) {
      return global(block, address, bytes);
    }
    return window(block, thread, address, bytes);
  }

  private static long window(ThreadBlock block, int thread, long address, int bytes) {
    long offset = address & 0xFFFF_FFFFL;
    return switch ((int) (address >>> WINDOW_SHIFT)) {
      case (int) (SHARED_WINDOW >>> WINDOW_SHIFT) -> sharedCluster(block, offset, bytes);
      case (int) (LOCAL_WINDOW >>> WINDOW_SHIFT) -> local(block, thread, offset, bytes);
      case (int) (PARAM_WINDOW >>> WINDOW_SHIFT) -> param(block, offset, bytes);
      default -> global(block, address, bytes);
    };
  }

  /**
   * Copies from global memory; what lies past {@code available} bytes becomes zero.
   *
   * @param to checked native address
   * @param bytes 4, 8 or 16
   */
  public static void copy(long to, int available, int bytes, ThreadBlock block, long from) {
    if (available > 0) {
      global(block, from, bytes);
    }
    if (available < bytes) {
      for (int i = 0; i < bytes; i++) {
        NativeMemory.putByte(to + i, i < available ? NativeMemory.getByte(from + i) : 0);
      }
      return;
    }
    if (bytes == Integer.BYTES) {
      NativeMemory.putInt(to, NativeMemory.getInt(from));
      return;
    }
    for (int i = 0; i < bytes; i += Long.BYTES) {
      NativeMemory.putLong(to + i, NativeMemory.getLong(from + i));
    }
  }

  /** Bytes that {@code alloca} may take from in each function. */
  public static final int STACK_BYTES = 32 << 10;

  /** Where {@code bytes} bytes begin on a stack of which {@code taken} bytes are taken. */
  public static long alloca(long taken, long bytes, int align) {
    long start = -(-taken & -(long) Math.max(align, 8));
    if (bytes < 0 || bytes > STACK_BYTES - start) {
      throw new DeviceFaultException(
          KernelFaultException.ILLEGAL_ADDRESS,
          "alloca of " + bytes + " bytes where " + taken + " of " + STACK_BYTES + " are taken");
    }
    return start;
  }

  /** The memory that a bulk copy reads or writes: the space of an address. */
  public static final int IN_GLOBAL = 0;

  public static final int IN_SHARED = 1;
  public static final int IN_CLUSTER = 2;

  private static long place(ThreadBlock block, long address, int space) {
    return switch (space) {
      case IN_GLOBAL -> global(block, address, 16);
      case IN_SHARED -> shared(block, address, 16);
      default -> sharedCluster(block, address, 16);
    };
  }

  /** A copy of any length between shared and global memory, each piece of which is checked. */
  public static void copyBulk(
      ThreadBlock block, long to, int toSpace, long from, int fromSpace, int bytes) {
    for (int at = 0; at < bytes; at += 16) {
      long source = place(block, from + at, fromSpace);
      long target = place(block, to + at, toSpace);
      NativeMemory.putLong(target, NativeMemory.getLong(source));
      NativeMemory.putLong(target + 8, NativeMemory.getLong(source + 8));
    }
  }

  /** Whether a generic address lies in the window that starts at {@code window}. */
  public static int inWindow(long address, long window) {
    return address >>> WINDOW_SHIFT == window >>> WINDOW_SHIFT ? 1 : 0;
  }

  /** Whether a generic address lies in no window, and so in global memory. */
  public static int isGlobal(long address) {
    return inWindow(address, SHARED_WINDOW)
            + inWindow(address, LOCAL_WINDOW)
            + inWindow(address, PARAM_WINDOW)
        ^ 1;
  }
}
