// SPDX-License-Identifier: Apache-2.0
package io.gpupool.soft.exec.launch;

import org.jspecify.annotations.Nullable;

/**
 * The place at which a kernel faulted.
 *
 * @param line in the PTX, 0 if unknown
 * @param block its coordinates: x, y, z
 * @param thread its coordinates, or null if it is not known which one it was
 * @param globalAddress the address of an access to global memory, or null
 */
public record FaultPlace(
    int line, String block, @Nullable String thread, @Nullable Long globalAddress) {}
