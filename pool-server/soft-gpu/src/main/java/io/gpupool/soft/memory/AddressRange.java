// SPDX-License-Identifier: Apache-2.0
package io.gpupool.soft.memory;

/**
 * A range of device addresses.
 *
 * @param address its first one
 * @param lengthBytes at least 1
 */
public record AddressRange(long address, long lengthBytes) {}
