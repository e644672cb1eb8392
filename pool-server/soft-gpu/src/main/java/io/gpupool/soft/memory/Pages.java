// SPDX-License-Identifier: Apache-2.0
package io.gpupool.soft.memory;

import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.MethodHandle;

/** Anonymous pages, zero until written and without cost until touched. Owned by its creator. */
public final class Pages implements AutoCloseable {
  private static final int PROT_READ_WRITE = 3;
  private static final int MAP_PRIVATE_ANONYMOUS_NORESERVE = 0x4022;

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

  private final long address;
  private final long sizeBytes;
  private boolean closed;

  private Pages(long address, long sizeBytes) {
    this.address = address;
    this.sizeBytes = sizeBytes;
  }

  private static MethodHandle handle(String name, FunctionDescriptor type) {
    Linker linker = Linker.nativeLinker();
    return linker.downcallHandle(linker.defaultLookup().findOrThrow(name), type);
  }

  /**
   * Maps pages.
   *
   * @throws OutOfMemoryError if the operating system refuses
   */
  public static Pages map(long sizeBytes) {
    long address;
    try {
      address =
          (long)
              MMAP.invokeExact(
                  0L, sizeBytes, PROT_READ_WRITE, MAP_PRIVATE_ANONYMOUS_NORESERVE, -1, 0L);
    } catch (Throwable e) {
      throw new IllegalStateException("mmap could not be called", e);
    }
    if (address == -1) {
      throw new OutOfMemoryError("cannot map " + sizeBytes + " bytes");
    }
    return new Pages(address, sizeBytes);
  }

  public long address() {
    return address;
  }

  public long sizeBytes() {
    return sizeBytes;
  }

  /** All of it; not to be touched once closed. */
  public MemorySegment segment() {
    return MemorySegment.ofAddress(address).reinterpret(sizeBytes);
  }

  @Override
  public void close() {
    if (closed) {
      return;
    }
    closed = true;
    int failed;
    try {
      failed = (int) MUNMAP.invokeExact(address, sizeBytes);
    } catch (Throwable e) {
      throw new IllegalStateException("munmap could not be called", e);
    }
    if (failed != 0) {
      throw new IllegalStateException("munmap failed");
    }
  }
}
