// SPDX-License-Identifier: Apache-2.0
package io.gpupool.client.connection;

import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;

/**
 * The calls under way by which a client gives back leases and sessions. A client closes after them:
 * the pool would keep for a resume window what it is not told of. For any thread.
 */
public final class PendingReturns {
  /** The time that a call has for its answer, attempts over new connections included. */
  public static final long LIMIT_NANOS = TimeUnit.SECONDS.toNanos(5);

  private final Set<CompletableFuture<?>> calls = ConcurrentHashMap.newKeySet();

  /** Adds a call until it is complete, and returns it. */
  public <T> CompletableFuture<T> add(CompletableFuture<T> call) {
    calls.add(call);
    call.whenComplete((answer, failure) -> calls.remove(call));
    return call;
  }

  /** Completes when the calls of this moment have, and {@link #LIMIT_NANOS} later at the latest. */
  public CompletableFuture<Void> done() {
    CompletableFuture<?>[] now = calls.toArray(CompletableFuture<?>[]::new);
    return CompletableFuture.allOf(now)
        .exceptionally(failure -> null)
        .completeOnTimeout(null, LIMIT_NANOS, TimeUnit.NANOSECONDS);
  }
}
