// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server;

import java.util.Optional;

/**
 * What a lease has of a GPU.
 *
 * @param partition of which it is; empty: of what is in no partition
 */
record Allocation(LeaseId lease, Optional<String> partition, Share share) {}
