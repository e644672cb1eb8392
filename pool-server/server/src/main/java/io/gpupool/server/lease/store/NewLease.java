// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.lease.store;

import io.gpupool.server.identity.Principal;
import io.gpupool.server.placement.LeaseId;
import io.gpupool.server.placement.Placement.Part;
import io.gpupool.server.records.GrantRecord;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * A lease that is about to be recorded.
 *
 * @param parts free parts of GPUs
 * @param principal the caller that asked for it
 * @param queueKey of the request, if it is recorded as waiting; null: it is not
 * @param server the server to which its holder is connected
 */
public record NewLease(
    LeaseId id,
    GrantRecord record,
    List<Part> parts,
    Principal principal,
    @Nullable String queueKey,
    String server) {}
