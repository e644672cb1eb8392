// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.session;

import java.util.LinkedHashMap;
import java.util.Map;

/**
 * The rate at which each tenant opens sessions: a token bucket that holds four seconds' worth.
 * Owned by the control thread.
 */
final class OpeningRate {
  private static final int BURST_SECONDS = 4;
  private static final double NANOS_PER_SECOND = 1e9;
  private static final int MAX_TENANTS = 4096;

  private final int perSecond;

  /** Tenants that have opened none for longest are forgotten. */
  private final Map<String, Bucket> buckets =
      new LinkedHashMap<>(16, 0.75f, true) {
        private static final long serialVersionUID = 1L;

        @Override
        protected boolean removeEldestEntry(Map.Entry<String, Bucket> eldest) {
          return size() > MAX_TENANTS;
        }
      };

  private record Bucket(double left, long atNanos) {}

  OpeningRate(int perSecond) {
    this.perSecond = perSecond;
  }

  /** Takes one opening out of a tenant's bucket; false if it is empty. */
  boolean take(String tenant, long nowNanos) {
    double full = (double) perSecond * BURST_SECONDS;
    Bucket bucket = buckets.getOrDefault(tenant, new Bucket(full, nowNanos));
    double left =
        Math.min(full, bucket.left + (nowNanos - bucket.atNanos) / NANOS_PER_SECOND * perSecond);
    boolean allowed = left >= 1;
    buckets.put(tenant, new Bucket(allowed ? left - 1 : left, nowNanos));
    return allowed;
  }
}
