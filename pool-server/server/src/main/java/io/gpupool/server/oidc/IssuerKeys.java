// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.oidc;

import java.io.IOException;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import java.util.function.LongSupplier;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The keys of an issuer as they were fetched last. They are fetched anew every ten minutes when
 * they are used, and when a token names one that is not among them, but not twice within some
 * seconds, whatever strangers show. For any thread that may block.
 */
final class IssuerKeys {
  private static final long FRESH_NANOS = TimeUnit.MINUTES.toNanos(10);

  /** How long the issuer may be away before its keys are believed no more. */
  private static final long STALE_NANOS = TimeUnit.HOURS.toNanos(24);

  private static final Logger LOG = LoggerFactory.getLogger(IssuerKeys.class);

  private final KeySource source;
  private final long minIntervalNanos;
  private final LongSupplier nanos;
  private volatile Fetched fetched = new Fetched("", List.of(), Long.MIN_VALUE);
  private Optional<Long> triedAtNanos = Optional.empty();

  /** What was fetched, and when. */
  private record Fetched(String issuer, List<IssuerKey> keys, long atNanos) {}

  IssuerKeys(KeySource source, long minIntervalNanos, LongSupplier nanos) {
    this.source = source;
    this.minIntervalNanos = minIntervalNanos;
    this.nanos = nanos;
  }

  /** Whose keys they are, as it stands in tokens; empty: none were fetched yet. */
  String issuer() {
    return fetched.issuer;
  }

  /** The key that a token says it was signed with; without a name, the only one that fits. */
  IssuerKey find(Optional<String> id, Algorithm algorithm) throws LoginException {
    Fetched now = fetched;
    Optional<IssuerKey> found = find(now.keys, id, algorithm);
    if (found.isPresent() && age(now) < FRESH_NANOS) {
      return found.get();
    }
    Fetched next = refresh(now);
    if (age(next) > STALE_NANOS) {
      throw new LoginException("the keys of its issuer cannot be had; the server's log says why");
    }
    return find(next.keys, id, algorithm)
        .orElseThrow(
            () -> new LoginException("its issuer has no such key (kid) for " + algorithm.name()));
  }

  /** Others that come meanwhile wait for the same answer. */
  private synchronized Fetched refresh(Fetched seen) {
    boolean soonAfter =
        triedAtNanos.filter(at -> nanos.getAsLong() - at < minIntervalNanos).isPresent();
    if (fetched.atNanos != seen.atNanos || soonAfter) {
      return fetched;
    }
    triedAtNanos = Optional.of(nanos.getAsLong());
    try {
      KeySource.Published published = source.published();
      fetched = new Fetched(published.issuer(), published.keys(), nanos.getAsLong());
      LOG.info("{} keys of the issuer of logins", fetched.keys.size());
    } catch (IOException | IllegalArgumentException e) {
      LOG.error("the keys of the issuer of logins cannot be fetched: {}", e.getMessage());
    }
    return fetched;
  }

  private long age(Fetched of) {
    return of.keys.isEmpty() ? Long.MAX_VALUE : nanos.getAsLong() - of.atNanos;
  }

  private static Optional<IssuerKey> find(
      List<IssuerKey> keys, Optional<String> id, Algorithm algorithm) {
    List<IssuerKey> fitting =
        keys.stream()
            .filter(key -> key.fits(algorithm))
            .filter(key -> id.isEmpty() || key.id().equals(id))
            .toList();
    return fitting.size() == 1 ? Optional.of(fitting.getFirst()) : Optional.empty();
  }
}
