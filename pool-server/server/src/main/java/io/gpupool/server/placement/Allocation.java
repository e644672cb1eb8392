// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.placement;

import io.gpupool.server.gpu.Share;
import org.jspecify.annotations.Nullable;

/**
 * The share of a GPU that a lease has.
 *
 * @param partition it is part of; null: no partition
 */
public record Allocation(LeaseId lease, @Nullable String partition, Share share) {}
