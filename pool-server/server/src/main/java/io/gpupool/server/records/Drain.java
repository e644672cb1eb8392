// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.records;

import org.jspecify.annotations.Nullable;

/**
 * A drain of a server, which grants nothing more.
 *
 * @param actor who asked for it
 * @param sinceMillis since 1970
 * @param deadlineAtMillis when the leases that are left are ended, since 1970; null: not at all
 * @param stopping whether the server is about to end, and forgets this then
 */
public record Drain(
    String actor, long sinceMillis, @Nullable Long deadlineAtMillis, boolean stopping) {}
