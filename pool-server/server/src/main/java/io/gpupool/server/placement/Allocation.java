// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.placement;

import io.gpupool.server.gpu.Share;
import java.util.Optional;

/**
 * The share of a GPU that a lease has.
 *
 * @param partition it is part of; empty: no partition
 */
public record Allocation(LeaseId lease, Optional<String> partition, Share share) {}
