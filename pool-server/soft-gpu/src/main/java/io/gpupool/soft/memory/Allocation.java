// SPDX-License-Identifier: Apache-2.0
package io.gpupool.soft.memory;

/**
 * A live piece of device memory.
 *
 * @param address where it starts
 * @param sizeBytes as asked for; what it occupies is rounded up to the granule
 * @param id unlike the address never used again
 * @param owner whom it was made for, as {@link DeviceMemory#allocate} was told
 */
public record Allocation(long address, long sizeBytes, long id, Object owner) {
  /** Whether all of {@code [start, start + lengthBytes)} lies in it. */
  public boolean contains(long start, long lengthBytes) {
    long offset = start - address;
    return offset >= 0 && lengthBytes >= 0 && offset <= sizeBytes - lengthBytes;
  }

  /** For messages. */
  String text() {
    return "the allocation of %d bytes at 0x%x".formatted(sizeBytes, address);
  }
}
