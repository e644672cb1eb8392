// SPDX-License-Identifier: Apache-2.0
package io.gpupool.agent.nvml;

import com.github.benmanes.caffeine.cache.AsyncCache;
import com.github.benmanes.caffeine.cache.Caffeine;
import com.github.benmanes.caffeine.cache.Expiry;
import com.github.benmanes.caffeine.cache.Ticker;
import io.gpupool.agent.lease.AttachRequest;
import io.gpupool.client.PoolClient;
import io.gpupool.control.v1.DescribeLeaseReply;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.function.BiFunction;

/**
 * A short-lived cache of what pools say of leases: a pool is asked at most five times a second
 * however many tools look at one lease. Runs on the agent's event loop.
 */
public final class LeaseViews {
  private static final Duration FRESH = Duration.ofMillis(200);

  private final BiFunction<
          PoolClient, AttachRequest.LeaseHandle, CompletableFuture<DescribeLeaseReply>>
      source;
  private final AsyncCache<Key, Outcome> outcomes;

  private record Key(PoolClient pool, AttachRequest.LeaseHandle ticket) {}

  /** The end of a request: its reply, or a failure, which is not kept. */
  private record Outcome(CompletableFuture<DescribeLeaseReply> reply) {
    Duration freshFor() {
      return reply.isCompletedExceptionally() ? Duration.ZERO : FRESH;
    }
  }

  public LeaseViews() {
    this(
        (pool, lease) -> pool.describeLease(lease.leaseId(), lease.secret()),
        Ticker.systemTicker());
  }

  LeaseViews(
      BiFunction<PoolClient, AttachRequest.LeaseHandle, CompletableFuture<DescribeLeaseReply>>
          source,
      Ticker ticker) {
    this.source = source;
    outcomes =
        Caffeine.newBuilder()
            .expireAfter(Expiry.<Key, Outcome>creating((key, outcome) -> outcome.freshFor()))
            .ticker(ticker)
            .executor(Runnable::run)
            .buildAsync();
  }

  CompletableFuture<DescribeLeaseReply> of(PoolClient pool, AttachRequest.LeaseHandle ticket) {
    return outcomes
        .get(
            new Key(pool, ticket),
            (key, executor) -> {
              CompletableFuture<DescribeLeaseReply> reply = source.apply(pool, ticket);
              return reply.handle((told, failure) -> new Outcome(reply));
            })
        .thenCompose(Outcome::reply);
  }
}
