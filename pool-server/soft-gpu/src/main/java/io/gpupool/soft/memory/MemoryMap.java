// SPDX-License-Identifier: Apache-2.0
package io.gpupool.soft.memory;

import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.MethodHandle;

/**
 * Says which bytes of the device address region are allocated, in granules of {@value
 * #GRANULE_BYTES} bytes. Marking is for the allocator's thread; kernels read concurrently.
 *
 * <p>Device addresses are native addresses of this process. The map itself is one byte a granule,
 * in pages that the kernel provides on first touch, so a large region costs nothing until used.
 */
public final class MemoryMap implements AutoCloseable {
  public static final int GRANULE_SHIFT = 9;
  public static final int GRANULE_BYTES = 1 << GRANULE_SHIFT;

  private static final int PROT_READ_WRITE = 3;
  private static final int MAP_PRIVATE_ANONYMOUS_NORESERVE = 0x4022;

  private final long base;
  private final long sizeBytes;
  private final MemorySegment granules;
  private final long granulesAddress;
  private boolean closed;

  /**
   * Describes a region in which nothing is allocated yet.
   *
   * @param base lowest device address, a multiple of {@value #GRANULE_BYTES}
   * @param sizeBytes length of the region, a multiple of {@value #GRANULE_BYTES}
   */
  public MemoryMap(long base, long sizeBytes) {
    if (base < 0 || sizeBytes <= 0 || ((base | sizeBytes) & (GRANULE_BYTES - 1)) != 0) {
      throw new IllegalArgumentException(
          "region must be aligned to " + GRANULE_BYTES + ": " + base + " + " + sizeBytes);
    }
    this.base = base;
    this.sizeBytes = sizeBytes;
    granules = Native.map(sizeBytes >>> GRANULE_SHIFT);
    granulesAddress = granules.address();
  }

  /** Lowest device address. */
  public long base() {
    return base;
  }

  /** Length of the region. */
  public long sizeBytes() {
    return sizeBytes;
  }

  /** Native address of the granule bytes; a byte is 1 where its granule is allocated, else 0. */
  public long granulesAddress() {
    return granulesAddress;
  }

  /** Lets kernels touch the granules that {@code [address, address + lengthBytes)} meets. */
  public void markLive(long address, long lengthBytes) {
    mark(address, lengthBytes, (byte) 1);
  }

  /** Makes kernels that touch these granules fault. */
  public void markDead(long address, long lengthBytes) {
    mark(address, lengthBytes, (byte) 0);
  }

  /** Whether every byte of the range lies in live granules; false for a range outside. */
  public boolean isLive(long address, long lengthBytes) {
    long offset = address - base;
    if (lengthBytes < 0 || offset < 0 || offset > sizeBytes - lengthBytes) {
      return false;
    }
    if (lengthBytes == 0) {
      return true;
    }
    long last = (offset + lengthBytes - 1) >>> GRANULE_SHIFT;
    for (long granule = offset >>> GRANULE_SHIFT; granule <= last; granule++) {
      if (granules.get(ValueLayout.JAVA_BYTE, granule) == 0) {
        return false;
      }
    }
    return true;
  }

  /** Gives the map's pages back; no kernel may run on it any more. */
  @Override
  public void close() {
    if (!closed) {
      closed = true;
      Native.unmap(granules);
    }
  }

  private void mark(long address, long lengthBytes, byte value) {
    long offset = address - base;
    if (lengthBytes < 0 || offset < 0 || offset > sizeBytes - lengthBytes) {
      throw new IllegalArgumentException(
          "range outside the device region: 0x" + Long.toHexString(address) + " + " + lengthBytes);
    }
    if (lengthBytes == 0) {
      return;
    }
    long first = offset >>> GRANULE_SHIFT;
    long last = (offset + lengthBytes - 1) >>> GRANULE_SHIFT;
    granules.asSlice(first, last - first + 1).fill(value);
  }

  /** Anonymous pages straight from the operating system: they need no zeroing of ours. */
  private static final class Native {
    private static final MethodHandle MMAP =
        handle(
            "mmap",
            FunctionDescriptor.of(
                ValueLayout.JAVA_LONG,
                ValueLayout.JAVA_LONG,
                ValueLayout.JAVA_LONG,
                ValueLayout.JAVA_INT,
                ValueLayout.JAVA_INT,
                ValueLayout.JAVA_INT,
                ValueLayout.JAVA_LONG));
    private static final MethodHandle MUNMAP =
        handle(
            "munmap",
            FunctionDescriptor.of(
                ValueLayout.JAVA_INT, ValueLayout.JAVA_LONG, ValueLayout.JAVA_LONG));

    private static MethodHandle handle(String name, FunctionDescriptor type) {
      Linker linker = Linker.nativeLinker();
      return linker.downcallHandle(linker.defaultLookup().findOrThrow(name), type);
    }

    static MemorySegment map(long lengthBytes) {
      long address;
      try {
        address =
            (long)
                MMAP.invokeExact(
                    0L, lengthBytes, PROT_READ_WRITE, MAP_PRIVATE_ANONYMOUS_NORESERVE, -1, 0L);
      } catch (Throwable e) {
        throw new IllegalStateException("mmap could not be called", e);
      }
      if (address == -1) {
        throw new OutOfMemoryError("cannot map " + lengthBytes + " bytes for the granule map");
      }
      return MemorySegment.ofAddress(address).reinterpret(lengthBytes, Arena.global(), null);
    }

    static void unmap(MemorySegment pages) {
      int failed;
      try {
        failed = (int) MUNMAP.invokeExact(pages.address(), pages.byteSize());
      } catch (Throwable e) {
        throw new IllegalStateException("munmap could not be called", e);
      }
      if (failed != 0) {
        throw new IllegalStateException("munmap of the granule map failed");
      }
    }
  }
}
