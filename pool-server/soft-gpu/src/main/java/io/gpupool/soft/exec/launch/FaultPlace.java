// SPDX-License-Identifier: Apache-2.0
package io.gpupool.soft.exec.launch;

import java.util.Optional;

/**
 * The place at which a kernel faulted.
 *
 * @param line in the PTX, 0 if unknown
 * @param block its coordinates: x, y, z
 * @param thread its coordinates, if it is known which one it was
 * @param globalAddress what it touched, for an access of global memory
 */
public record FaultPlace(
    int line, String block, Optional<String> thread, Optional<Long> globalAddress) {}
