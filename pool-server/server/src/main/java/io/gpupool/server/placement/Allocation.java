// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.placement;

import io.gpupool.server.gpu.Share;
import java.util.Optional;

/**
 * What a lease has of a GPU.
 *
 * @param partition of which it is; empty: of what is in no partition
 */
public record Allocation(LeaseId lease, Optional<String> partition, Share share) {}
