// SPDX-License-Identifier: Apache-2.0
package io.gpupool.soft.memory;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.Optional;

/**
 * A file in memory alone, whose pages can be mapped at several addresses. It has a length and no
 * pages until they are touched.
 */
final class SharedFile implements AutoCloseable {
  private static final int CLOEXEC = 1;

  /** FALLOC_FL_KEEP_SIZE and FALLOC_FL_PUNCH_HOLE. */
  private static final int PUNCH_HOLE = 3;

  private static final Optional<CFunction> MEMFD_CREATE = CFunction.find("memfd_create");
  private static final CFunction FTRUNCATE = CFunction.of("ftruncate");
  private static final CFunction FALLOCATE = CFunction.of("fallocate");
  private static final CFunction CLOSE = CFunction.of("close");

  private final int descriptor;

  private SharedFile(int descriptor) {
    this.descriptor = descriptor;
  }

  /** Makes a file; empty if the system has none of this kind. */
  static Optional<SharedFile> create(long lengthBytes) {
    if (MEMFD_CREATE.isEmpty()) {
      return Optional.empty();
    }
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment name = arena.allocateFrom("gpupool-device-memory");
      int descriptor = MEMFD_CREATE.get().callInt(name.address(), CLOEXEC, 0, 0);
      if (descriptor < 0) {
        return Optional.empty();
      }
      SharedFile file = new SharedFile(descriptor);
      if (FTRUNCATE.callInt(descriptor, lengthBytes, 0, 0) != 0) {
        file.close();
        return Optional.empty();
      }
      return Optional.of(file);
    }
  }

  int descriptor() {
    return descriptor;
  }

  /** Gives the pages of a range back; they read as zero afterwards. */
  void discard(long offset, long lengthBytes) {
    FALLOCATE.callInt(descriptor, PUNCH_HOLE, offset, lengthBytes);
  }

  @Override
  public void close() {
    CLOSE.callInt(descriptor, 0, 0, 0);
  }
}
