// SPDX-License-Identifier: Apache-2.0
package io.gpupool.agent;

import io.gpupool.client.PoolClient;
import io.gpupool.control.v1.DescribeLeaseReply;
import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;

/**
 * What pools say of leases, asked at most five times a second however many tools look at one. Runs
 * on the agent's event loop.
 */
final class LeaseViews {
  private static final long FRESH_NANOS = TimeUnit.MILLISECONDS.toNanos(200);

  private record Key(PoolClient pool, AttachRequest.LeaseHandle ticket) {}

  private record Entry(long askedAtNanos, CompletableFuture<DescribeLeaseReply> reply) {
    boolean isFresh(long nowNanos) {
      return !reply.isCompletedExceptionally() && nowNanos - askedAtNanos < FRESH_NANOS;
    }
  }

  private final Map<Key, Entry> entries = new HashMap<>();

  CompletableFuture<DescribeLeaseReply> of(PoolClient pool, AttachRequest.LeaseHandle ticket) {
    long nowNanos = System.nanoTime();
    entries.values().removeIf(entry -> entry.reply.isDone() && !entry.isFresh(nowNanos));
    return entries
        .computeIfAbsent(
            new Key(pool, ticket),
            key -> new Entry(nowNanos, pool.describeLease(ticket.leaseId(), ticket.secret())))
        .reply
        .copy();
  }
}
