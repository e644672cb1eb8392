// SPDX-License-Identifier: Apache-2.0
package io.gpupool.soft.memory;

import java.lang.foreign.MemorySegment;
import java.util.Optional;

/**
 * A range of this process's addresses reserved at a chosen place. Its pages become usable from the
 * bottom up, are zero when first touched, and can be given back.
 */
final class Mapping {
  static final long PAGE_BYTES = 4096;

  private static final int PROT_NONE = 0;
  private static final int PROT_READ_WRITE = 3;
  private static final int MAP_SHARED = 0x01;
  private static final int MAP_PRIVATE = 0x02;
  private static final int MAP_FIXED = 0x10;
  private static final int MAP_ANONYMOUS = 0x20;
  private static final int MAP_NORESERVE = 0x4000;
  private static final int MAP_FIXED_NOREPLACE = 0x100000;
  private static final int MADV_DONTNEED = 4;
  private static final int MADV_HUGEPAGE = 14;

  private static final CFunction MMAP = CFunction.of("mmap");
  private static final CFunction MUNMAP = CFunction.of("munmap");
  private static final CFunction MPROTECT = CFunction.of("mprotect");
  private static final CFunction MADVISE = CFunction.of("madvise");

  private final long address;
  private final long sizeBytes;

  private Mapping(long address, long sizeBytes) {
    this.address = address;
    this.sizeBytes = sizeBytes;
  }

  /**
   * Reserves {@code [address, address + sizeBytes)}; empty if the kernel cannot give that place.
   */
  static Optional<Mapping> reserve(long address, long sizeBytes) {
    int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE;
    long result = MMAP.call(address, sizeBytes, PROT_NONE, flags, -1, 0);
    if (result == -1) {
      return Optional.empty();
    }
    Mapping mapping = new Mapping(result, sizeBytes);
    if (result != address) {
      // A kernel before 4.17 takes the address as a hint only.
      mapping.unmap();
      return Optional.empty();
    }
    return Optional.of(mapping);
  }

  long address() {
    return address;
  }

  long sizeBytes() {
    return sizeBytes;
  }

  /** Makes pages usable; false if the kernel has not the memory to promise. */
  boolean commit(long start, long lengthBytes) {
    if (MPROTECT.callInt(start, lengthBytes, PROT_READ_WRITE, 0) != 0) {
      return false;
    }
    // Only a hint for faster first touch: kernels without huge pages refuse it, harmlessly.
    MADVISE.call(start, lengthBytes, MADV_HUGEPAGE);
    return true;
  }

  /** Shows a part of a file at these addresses; false if the kernel cannot. */
  boolean share(long start, long lengthBytes, int descriptor, long offset) {
    return map(start, lengthBytes, MAP_SHARED | MAP_FIXED | MAP_NORESERVE, descriptor, offset);
  }

  /** Private pages, zero until written, take the place of what is at these addresses. */
  void unshare(long start, long lengthBytes) {
    int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_NORESERVE;
    if (!map(start, lengthBytes, flags, -1, 0)) {
      throw new IllegalStateException("mmap of " + lengthBytes + " bytes failed");
    }
  }

  private static boolean map(long start, long lengthBytes, int flags, int descriptor, long offset) {
    return MMAP.call(start, lengthBytes, PROT_READ_WRITE, flags, descriptor, offset) == start;
  }

  /** Gives the memory of whole pages back; they read as zero afterwards. */
  void discard(long start, long lengthBytes) {
    MADVISE.call(start, lengthBytes, MADV_DONTNEED);
  }

  /** All of it as a segment; touching what is not committed ends the process. */
  MemorySegment segment() {
    return MemorySegment.ofAddress(address).reinterpret(sizeBytes);
  }

  void unmap() {
    MUNMAP.call(address, sizeBytes, 0);
  }
}
