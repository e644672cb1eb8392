// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.tenant;

import com.github.benmanes.caffeine.cache.Cache;
import com.github.benmanes.caffeine.cache.Caffeine;
import com.github.benmanes.caffeine.cache.Expiry;
import com.google.errorprone.annotations.concurrent.GuardedBy;
import java.net.InetSocketAddress;
import java.net.SocketAddress;
import java.time.Duration;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;

/**
 * A count of wrong tokens by the address that showed them. Addresses that show many get late
 * answers, a few at a time, so that guessing is slow and waiting guesses cost little. Right tokens
 * are never delayed. For any thread.
 */
public final class AuthFailureThrottle {
  /** How late the answer is. */
  public static final long DELAY_MILLIS = 100;

  private static final int FREE_OF_DELAY = 60;
  private static final int MAX_LATE = 32;
  private static final int MAX_ADDRESSES = 4096;
  private static final Duration FORGET_AFTER = Duration.ofMinutes(1);

  /** How many each address has shown since the first of them. */
  private final Cache<Object, Integer> wrong;

  @GuardedBy("this")
  private int late;

  /** What is to become of the answer to a wrong token. */
  public enum Answer {
    NOW,
    /** After {@link #DELAY_MILLIS}, and then {@link #answered}. */
    LATE,
    /** Now, and without a look at what else may be wrong: there are many. */
    TOO_MANY
  }

  /** No address has shown any yet; the clock counts in nanoseconds. */
  public AuthFailureThrottle(LongSupplier nanos) {
    wrong =
        Caffeine.newBuilder()
            .maximumSize(MAX_ADDRESSES)
            .expireAfter(Expiry.creating((address, count) -> FORGET_AFTER))
            .ticker(nanos::getAsLong)
            .executor(Runnable::run)
            .build();
  }

  /** Notes a wrong token. */
  public synchronized Answer note(@Nullable SocketAddress from) {
    Object key =
        switch (from) {
          case InetSocketAddress inet -> inet.getAddress();
          case null -> "";
          default -> from;
        };
    if (wrong.asMap().merge(key, 1, Integer::sum) <= FREE_OF_DELAY) {
      return Answer.NOW;
    }
    if (late >= MAX_LATE) {
      return Answer.TOO_MANY;
    }
    late++;
    return Answer.LATE;
  }

  /** A late answer has been given. */
  public synchronized void answered() {
    late--;
  }
}
