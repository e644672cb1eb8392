// SPDX-License-Identifier: Apache-2.0
package io.gpupool.soft.memory;

import java.lang.foreign.MemorySegment;

/** Anonymous pages, zero until written and without cost until touched. Owned by its creator. */
public final class Pages implements AutoCloseable {
  private static final int PROT_READ_WRITE = 3;
  private static final int MAP_PRIVATE_ANONYMOUS_NORESERVE = 0x4022;

  private static final CFunction MMAP = CFunction.of("mmap");
  private static final CFunction MUNMAP = CFunction.of("munmap");

  private final long address;
  private final long sizeBytes;
  private boolean closed;

  private Pages(long address, long sizeBytes) {
    this.address = address;
    this.sizeBytes = sizeBytes;
  }

  /**
   * Maps pages.
   *
   * @throws OutOfMemoryError if the operating system refuses
   */
  public static Pages map(long sizeBytes) {
    long address = MMAP.call(0, sizeBytes, PROT_READ_WRITE, MAP_PRIVATE_ANONYMOUS_NORESERVE, -1, 0);
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
    if (MUNMAP.callInt(address, sizeBytes, 0, 0) != 0) {
      throw new IllegalStateException("munmap failed");
    }
  }
}
