// SPDX-License-Identifier: Apache-2.0
package io.gpupool.cuda;

import io.gpupool.worker.os.Posix;

/**
 * Addresses of device memory that a driver gives. A driver takes them from the address space of its
 * process, from the top like all that is mapped there; so a program could have memory of its own at
 * the same address, and nobody could tell the two apart. Here the top of the address space is taken
 * before the driver is loaded, so that device memory lies below it, and programs have their memory
 * in the part that is taken: the kernel places it within 16 TiB (on AArch64 32 TiB) of the top.
 */
public final class DriverAddresses {
  private static final long TEBIBYTE = 1L << 40;
  private static final boolean IS_AARCH64 = System.getProperty("os.arch").equals("aarch64");
  private static final long TOP = IS_AARCH64 ? 256 * TEBIBYTE : 128 * TEBIBYTE;

  /** The size of the addresses that programs map, below the kernel. */
  private static final long OF_PROGRAMS = (IS_AARCH64 ? 40 : 24) * TEBIBYTE;

  /** Device memory of one of the servers of a session. */
  private static final long OF_SERVER = 4 * TEBIBYTE;

  private static final long SMALLEST = 1 << 20;
  private static final int STEP_BITS = 4;

  private DriverAddresses() {}

  /**
   * Has all that is mapped from now on lie below the addresses of programs, and of other servers of
   * the session. Where addresses cannot be taken, as with {@code ulimit -v}, nothing changes.
   *
   * @param slot the server's place in the session, from 0
   */
  public static void reserve(int slot) {
    long limit = TOP - OF_PROGRAMS - slot * OF_SERVER;
    // Pieces of one size fill all gaps of that size from the top; smaller ones fill what is left.
    for (long size = TEBIBYTE; size >= SMALLEST; size >>= STEP_BITS) {
      long address = Posix.reserve(size);
      while (address != 0 && address + size > limit) {
        address = Posix.reserve(size);
      }
      if (address != 0) {
        Posix.unmap(address, size);
      }
    }
  }
}
