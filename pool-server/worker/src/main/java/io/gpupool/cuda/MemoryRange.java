// SPDX-License-Identifier: Apache-2.0
package io.gpupool.cuda;

/**
 * Device memory of a session.
 *
 * @param address where it begins
 * @param lengthBytes its length
 * @param stageable whether its bytes can be put there before it is allocated
 */
public record MemoryRange(long address, long lengthBytes, boolean stageable) {}
