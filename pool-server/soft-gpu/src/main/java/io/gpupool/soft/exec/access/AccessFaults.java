// SPDX-License-Identifier: Apache-2.0
package io.gpupool.soft.exec.access;

import io.gpupool.soft.exec.block.ThreadBlock;
import io.gpupool.soft.exec.launch.DeviceFaultException;
import io.gpupool.soft.exec.launch.KernelFaultException;
import io.gpupool.soft.exec.memory.NativeMemory;
import io.gpupool.soft.memory.MemoryMap;

/** The faults of accesses that are not allowed. Stateless. */
final class AccessFaults {
  private AccessFaults() {}

  /** Returns the fault of an access to global memory. */
  static DeviceFaultException global(ThreadBlock block, long address, int bytes) {
    long offset = address - block.memoryBase;
    boolean allocated =
        Long.compareUnsigned(offset, block.memoryBytes) < 0
            && NativeMemory.getByte(block.granules + (offset >>> MemoryMap.GRANULE_SHIFT)) != 0;
    boolean misaligned = allocated && isMisaligned(address, bytes);
    return new DeviceFaultException(
        result(misaligned), text(misaligned, "global", address, bytes), address);
  }

  /** Returns the fault of an access to another space. */
  static DeviceFaultException inSpace(String space, long address, int bytes) {
    boolean misaligned = isMisaligned(address, bytes);
    return new DeviceFaultException(result(misaligned), text(misaligned, space, address, bytes));
  }

  private static boolean isMisaligned(long address, int bytes) {
    return (address & (bytes - 1)) != 0;
  }

  private static int result(boolean misaligned) {
    return misaligned
        ? KernelFaultException.MISALIGNED_ADDRESS
        : KernelFaultException.ILLEGAL_ADDRESS;
  }

  private static String text(boolean misaligned, String space, long address, int bytes) {
    return (misaligned ? "misaligned access of " : "access of ")
        + bytes
        + " bytes to "
        + space
        + " address 0x"
        + Long.toHexString(address);
  }
}
