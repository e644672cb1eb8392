// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.records;

import io.gpupool.server.identity.HolderName;
import io.gpupool.server.identity.LeasePod;
import org.jspecify.annotations.Nullable;

/**
 * The owner of a lease.
 *
 * @param holder the process that holds it, in the words of that process
 * @param tenant the tenant that it counts for; empty: none
 * @param pod the pod that may use it; null: any
 */
public record LeaseOwner(HolderName holder, String tenant, @Nullable LeasePod pod) {}
