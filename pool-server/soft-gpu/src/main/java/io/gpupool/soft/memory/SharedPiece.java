// SPDX-License-Identifier: Apache-2.0
package io.gpupool.soft.memory;

/**
 * The place in a file where other processes find an allocation.
 *
 * @param descriptor of the file, in the process that has the allocation
 * @param offset of the first page that the allocation touches
 * @param mappedBytes of all pages that it touches
 * @param innerBytes from the beginning of its first page to its own
 * @param lengthBytes of the allocation
 */
public record SharedPiece(
    int descriptor, long offset, long mappedBytes, long innerBytes, long lengthBytes) {
  /** Whether it describes a piece of a file at all; it may have come from elsewhere. */
  public boolean isSound() {
    return descriptor >= 0
        && offset >= 0
        && offset % Mapping.PAGE_BYTES == 0
        && mappedBytes > 0
        && mappedBytes % Mapping.PAGE_BYTES == 0
        && innerBytes >= 0
        && innerBytes < Mapping.PAGE_BYTES
        && lengthBytes > 0
        && lengthBytes <= mappedBytes - innerBytes;
  }
}
