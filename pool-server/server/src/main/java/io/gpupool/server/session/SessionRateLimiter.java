// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.session;

import com.github.benmanes.caffeine.cache.Cache;
import com.github.benmanes.caffeine.cache.Caffeine;
import java.time.Duration;
import java.util.function.LongSupplier;

/**
 * The rate at which each tenant opens sessions: a token bucket that holds four seconds' worth.
 * Owned by the control thread.
 */
final class SessionRateLimiter {
  private static final int BURST_SECONDS = 4;

  /** A bucket that nothing was taken from for so long is full; Caffeine may be a second early. */
  private static final Duration FORGET_AFTER = Duration.ofSeconds(BURST_SECONDS + 1);

  private static final double NANOS_PER_SECOND = 1e9;
  private static final int MAX_TENANTS = 4096;

  private final int perSecond;
  private final LongSupplier nanos;

  private final Cache<String, Bucket> buckets;

  private record Bucket(double left, long atNanos) {}

  SessionRateLimiter(int perSecond, LongSupplier nanos) {
    this.perSecond = perSecond;
    this.nanos = nanos;
    buckets =
        Caffeine.newBuilder()
            .maximumSize(MAX_TENANTS)
            .expireAfterWrite(FORGET_AFTER)
            .ticker(nanos::getAsLong)
            .executor(Runnable::run)
            .build();
  }

  /** Takes one opening out of a tenant's bucket; false if it is empty. */
  boolean take(String tenant) {
    long nowNanos = nanos.getAsLong();
    double full = (double) perSecond * BURST_SECONDS;
    Bucket bucket = buckets.get(tenant, key -> new Bucket(full, nowNanos));
    double left =
        Math.min(full, bucket.left + (nowNanos - bucket.atNanos) / NANOS_PER_SECOND * perSecond);
    boolean allowed = left >= 1;
    buckets.put(tenant, new Bucket(allowed ? left - 1 : left, nowNanos));
    return allowed;
  }
}
