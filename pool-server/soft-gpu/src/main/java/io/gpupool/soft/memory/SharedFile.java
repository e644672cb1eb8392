// SPDX-License-Identifier: Apache-2.0
package io.gpupool.soft.memory;

import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemoryLayout;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.MethodHandle;
import java.util.Optional;

/**
 * A file in memory alone, whose pages can be mapped at several addresses. It has a length and no
 * pages until they are touched.
 */
final class SharedFile implements AutoCloseable {
  private static final int CLOEXEC = 1;

  /** FALLOC_FL_KEEP_SIZE and FALLOC_FL_PUNCH_HOLE. */
  private static final int PUNCH_HOLE = 3;

  private static final ValueLayout.OfLong LONG = ValueLayout.JAVA_LONG;
  private static final ValueLayout.OfInt INT = ValueLayout.JAVA_INT;
  private static final Optional<MethodHandle> MEMFD_CREATE = handle("memfd_create", LONG, INT);
  private static final Optional<MethodHandle> FTRUNCATE = handle("ftruncate", INT, LONG);
  private static final Optional<MethodHandle> FALLOCATE = handle("fallocate", INT, INT, LONG, LONG);
  private static final Optional<MethodHandle> CLOSE = handle("close", INT);

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
      int descriptor = (int) MEMFD_CREATE.get().invokeExact(name.address(), CLOEXEC);
      if (descriptor < 0) {
        return Optional.empty();
      }
      SharedFile file = new SharedFile(descriptor);
      if ((int) FTRUNCATE.orElseThrow().invokeExact(descriptor, lengthBytes) != 0) {
        file.close();
        return Optional.empty();
      }
      return Optional.of(file);
    } catch (Throwable e) {
      throw new IllegalStateException("memfd_create could not be called", e);
    }
  }

  int descriptor() {
    return descriptor;
  }

  /** Gives the pages of a range back; they read as zero afterwards. */
  void discard(long offset, long lengthBytes) {
    try {
      int ignored =
          (int) FALLOCATE.orElseThrow().invokeExact(descriptor, PUNCH_HOLE, offset, lengthBytes);
    } catch (Throwable e) {
      throw new IllegalStateException("fallocate could not be called", e);
    }
  }

  @Override
  public void close() {
    try {
      int ignored = (int) CLOSE.orElseThrow().invokeExact(descriptor);
    } catch (Throwable e) {
      throw new IllegalStateException("close could not be called", e);
    }
  }

  private static Optional<MethodHandle> handle(String name, MemoryLayout... parameters) {
    Linker linker = Linker.nativeLinker();
    return linker
        .defaultLookup()
        .find(name)
        .map(address -> linker.downcallHandle(address, FunctionDescriptor.of(INT, parameters)));
  }
}
