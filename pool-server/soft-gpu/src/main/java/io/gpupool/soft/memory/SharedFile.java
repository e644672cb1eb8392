// SPDX-License-Identifier: Apache-2.0
package io.gpupool.soft.memory;

import io.gpupool.soft.CudaStatus;
import io.gpupool.soft.GpuException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * A file in memory alone, whose pages can be mapped at several addresses. It has a length and no
 * pages until they are touched.
 */
public final class SharedFile implements AutoCloseable {
  private static final int CLOEXEC = 1;

  /** FALLOC_FL_KEEP_SIZE and FALLOC_FL_PUNCH_HOLE. */
  private static final int PUNCH_HOLE = 3;

  private static final int DUPFD_CLOEXEC = 1030;
  private static final int SEEK_END = 2;

  /** Null where the system has none. */
  private static final @Nullable CFunction MEMFD_CREATE =
      CFunction.find("memfd_create").orElse(null);

  private static final CFunction FTRUNCATE = CFunction.of("ftruncate");
  private static final CFunction FALLOCATE = CFunction.of("fallocate");
  private static final CFunction PWRITE = CFunction.of("pwrite");
  private static final CFunction FCNTL = CFunction.of("fcntl");
  private static final CFunction LSEEK = CFunction.of("lseek");
  private static final CFunction CLOSE = CFunction.of("close");

  private final int descriptor;

  /** Takes over a descriptor. */
  SharedFile(int descriptor) {
    this.descriptor = descriptor;
  }

  /** Makes a file; empty if the system has none of this kind. */
  static Optional<SharedFile> create(long lengthBytes) {
    if (MEMFD_CREATE == null) {
      return Optional.empty();
    }
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment name = arena.allocateFrom("gpupool-device-memory");
      int descriptor = MEMFD_CREATE.callInt(name.address(), CLOEXEC, 0, 0);
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

  /**
   * A second descriptor of a file, close-on-exec.
   *
   * @throws GpuException INVALID_VALUE if there is no such descriptor, or no room for another
   */
  public static int duplicate(int descriptor) {
    int copy = FCNTL.callInt(descriptor, DUPFD_CLOEXEC, 0, 0);
    if (copy < 0) {
      throw new GpuException(CudaStatus.INVALID_VALUE, "cannot duplicate descriptor " + descriptor);
    }
    return copy;
  }

  /** The descriptor of a file without content, which stands for something by itself. */
  public static int empty() {
    return create(0)
        .map(SharedFile::descriptor)
        .orElseThrow(() -> new GpuException(CudaStatus.OUT_OF_MEMORY, "no more descriptors"));
  }

  int descriptor() {
    return descriptor;
  }

  /** Negative if it has none. */
  long lengthBytes() {
    return LSEEK.call(descriptor, 0, SEEK_END);
  }

  /** Writes memory into the file; false if the system has no more. */
  boolean write(long offset, long address, long lengthBytes) {
    long written = 0;
    while (written < lengthBytes) {
      long count =
          PWRITE.call(descriptor, address + written, lengthBytes - written, offset + written, 0, 0);
      if (count <= 0) {
        return false;
      }
      written += count;
    }
    return true;
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
