// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.oidc;

import com.google.errorprone.annotations.concurrent.GuardedBy;
import java.io.IOException;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import java.util.function.LongSupplier;
import org.jose4j.jwk.JsonWebKey;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The keys of an issuer as they were last fetched. Keys in use are fetched again every ten minutes,
 * and when a token names an unknown one, but never twice within some seconds, whatever strangers
 * show. For any thread that may block.
 */
final class IssuerKeys {
  private static final long FRESH_NANOS = TimeUnit.MINUTES.toNanos(10);

  /** How long the issuer may be away before its keys are believed no more. */
  private static final long STALE_NANOS = TimeUnit.HOURS.toNanos(24);

  private static final Logger LOG = LoggerFactory.getLogger(IssuerKeys.class);

  private final KeySource source;
  private final long minIntervalNanos;
  private final LongSupplier nanos;
  private volatile Fetched fetched = new Fetched(PublishedKeys.NONE, Long.MIN_VALUE);

  @GuardedBy("this")
  private @Nullable Long triedAtNanos;

  private record Fetched(PublishedKeys published, long atNanos) {}

  IssuerKeys(KeySource source, long minIntervalNanos, LongSupplier nanos) {
    this.source = source;
    this.minIntervalNanos = minIntervalNanos;
    this.nanos = nanos;
  }

  /** The issuer's name as it stands in its tokens; empty: no keys were fetched yet. */
  String issuer() {
    return fetched.published.issuer();
  }

  /** The key that a token says it was signed with; without a name, the only one that fits. */
  JsonWebKey find(Jwt token) throws TokenRejectedException {
    Fetched now = fetched;
    Optional<JsonWebKey> found = now.published.find(token);
    if (found.isPresent() && age(now) < FRESH_NANOS) {
      return found.get();
    }
    Fetched next = refresh(now);
    if (age(next) > STALE_NANOS) {
      throw new TokenRejectedException(
          "the keys of its issuer cannot be had; the server's log says why");
    }
    return next.published
        .find(token)
        .orElseThrow(() ->
            new TokenRejectedException(
                "its issuer has no such key (kid) for "
                    + token.algorithm().getAlgorithmIdentifier()));
  }

  /** Others that come meanwhile wait for the same answer. */
  private synchronized Fetched refresh(Fetched seen) {
    boolean soonAfter = triedAtNanos != null && nanos.getAsLong() - triedAtNanos < minIntervalNanos;
    if (fetched.atNanos != seen.atNanos || soonAfter) {
      return fetched;
    }
    triedAtNanos = nanos.getAsLong();
    try {
      PublishedKeys published = source.published();
      fetched = new Fetched(published, nanos.getAsLong());
      LOG.info("fetched {} keys of the OIDC issuer", published.keys().size());
    } catch (IOException | IllegalArgumentException e) {
      LOG.error("cannot fetch the keys of the OIDC issuer: {}", e.getMessage());
    }
    return fetched;
  }

  private long age(Fetched of) {
    return of.published.keys().isEmpty() ? Long.MAX_VALUE : nanos.getAsLong() - of.atNanos;
  }
}
