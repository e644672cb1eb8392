// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.lease.lifecycle;

import io.gpupool.server.identity.LeaseSecret;
import io.gpupool.server.lease.model.LeaseHold;
import io.gpupool.server.placement.Placement.Part;
import io.gpupool.server.records.LeaseSpec;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * A lease request that is about to be granted.
 *
 * @param parts free parts of GPUs
 * @param secret the hash of the lease's secret
 * @param queueKey of the request, if it is recorded as waiting; null: it is not
 * @param server the server to which its client is connected
 * @param hold keeps the lease alive from the start; null: its client is at another server
 */
public record LeaseGrant(
    LeaseSpec spec,
    List<Part> parts,
    LeaseSecret.Hash secret,
    @Nullable String queueKey,
    String server,
    @Nullable LeaseHold hold) {}
