// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.oidc;

import com.github.benmanes.caffeine.cache.AsyncCache;
import com.github.benmanes.caffeine.cache.Caffeine;
import com.github.benmanes.caffeine.cache.Expiry;
import io.gpupool.server.identity.FederatedIdentity;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import java.util.function.LongSupplier;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A verifier of tokens that an OpenID Connect issuer or a Kubernetes cluster has signed. It
 * verifies them in threads of its own and keeps its verdicts for a while. For any thread; only the
 * verifier's own threads block.
 */
public final class TokenVerifier implements AutoCloseable {
  private static final Logger LOG = LoggerFactory.getLogger(TokenVerifier.class);
  private static final long MIN_FETCH_NANOS = TimeUnit.SECONDS.toNanos(10);
  private static final long LEEWAY_MILLIS = 30_000;

  /** After that, a key that has been taken back by its issuer lets nobody in any more. */
  private static final long REMEMBER_MILLIS = 60_000;

  private static final long REMEMBER_REFUSED_MILLIS = 5_000;
  private static final long REMEMBER_BUSY_MILLIS = 1_000;

  /** So many that a verdict of this moment stays until it is asked for, whatever strangers show. */
  private static final int MAX_REMEMBERED = 16_384;

  private static final int MAX_AT_ONCE = 64;

  private final List<Issuer> issuers;
  private final LongSupplier wallMillis;
  private final Semaphore places = new Semaphore(MAX_AT_ONCE);
  private final ExecutorService threads =
      Executors.newThreadPerTaskExecutor(Thread.ofVirtual().name("gpupool-token-", 0).factory());
  private final AsyncCache<String, Verdict> verdicts;

  /** The outcome of a verification, and until when it holds. */
  private record Verdict(@Nullable FederatedIdentity identity, String why, long untilMillis) {}

  TokenVerifier(List<Issuer> issuers, LongSupplier wallMillis) {
    this.issuers = List.copyOf(issuers);
    this.wallMillis = wallMillis;
    verdicts =
        Caffeine.newBuilder()
            .maximumSize(MAX_REMEMBERED)
            .expireAfter(
                Expiry.<String, Verdict>creating((digest, verdict) ->
                    Duration.ofMillis(verdict.untilMillis() - wallMillis.getAsLong())))
            .ticker(() -> TimeUnit.MILLISECONDS.toNanos(wallMillis.getAsLong()))
            .executor(Runnable::run)
            .buildAsync();
  }

  /**
   * Asks an issuer for its keys when the first token of it comes; empty if there is none to ask.
   */
  public static Optional<TokenVerifier> of(
      @Nullable OidcOptions oidc, @Nullable KubernetesOptions kubernetes) {
    List<Issuer> issuers = new ArrayList<>();
    if (kubernetes != null) {
      issuers.add(new KubernetesIssuer(kubernetes, keys(new ClusterKeySource(kubernetes))));
    }
    if (oidc != null) {
      issuers.add(new OidcIssuer(oidc, keys(new IssuerKeySource(oidc.issuer(), oidc.trusted()))));
    }
    return issuers.isEmpty()
        ? Optional.empty()
        : Optional.of(new TokenVerifier(issuers, System::currentTimeMillis));
  }

  private static IssuerKeys keys(KeySource source) {
    return new IssuerKeys(source, MIN_FETCH_NANOS, System::nanoTime);
  }

  /** Whether a token has the form of an issuer's rather than of the pool's own. */
  public static boolean isFor(String token) {
    return Jwt.looksLike(token);
  }

  /** Completed once {@link #find} knows about the token. */
  public CompletableFuture<Void> verified(String token) {
    return verdicts.get(digest(token), (digest, none) -> verdict(token)).thenApply(known -> null);
  }

  private CompletableFuture<Verdict> verdict(String token) {
    if (!places.tryAcquire()) {
      return CompletableFuture.completedFuture(
          refused("the server verifies too many tokens at once; try again", REMEMBER_BUSY_MILLIS));
    }
    return CompletableFuture.supplyAsync(() -> judge(token), threads)
        .whenComplete((verdict, failure) -> places.release());
  }

  /** Returns the bearer of a token that was verified lately; empty if none is known. */
  public Optional<FederatedIdentity> find(String token) {
    return known(token).map(Verdict::identity);
  }

  /** Why a token that was verified is not believed. */
  public String rejectionReason(String token) {
    return known(token).map(Verdict::why).orElse("it was not verified in time");
  }

  @Override
  public void close() {
    threads.shutdownNow();
  }

  private Verdict judge(String token) {
    long now = wallMillis.getAsLong();
    try {
      FederatedIdentity identity = verify(Jwt.parse(token), now);
      return new Verdict(
          identity, "", Math.min(identity.validUntilMillis(), now + REMEMBER_MILLIS));
    } catch (TokenRejectedException e) {
      return refused(e.reason(), REMEMBER_REFUSED_MILLIS);
    } catch (RuntimeException e) {
      LOG.error("cannot verify a token", e);
      return refused("the server cannot verify it; its log says why", REMEMBER_REFUSED_MILLIS);
    }
  }

  private FederatedIdentity verify(Jwt token, long now) throws TokenRejectedException {
    Claims claims = token.claims();
    // The cheap questions first: nothing is fetched for the tokens of others.
    Issuer issuer = issuerOf(claims);
    require(
        claims.texts("aud").contains(issuer.audience()),
        "it is for another audience than " + issuer.audience());
    long expires =
        1000
            * claims
                .seconds("exp")
                .orElseThrow(() -> new TokenRejectedException("it has no end (exp)"));
    require(now < expires + LEEWAY_MILLIS, "it has expired");
    require(
        !claims.has("nbf")
            || claims.seconds("nbf").filter(s -> now >= 1000 * s - LEEWAY_MILLIS).isPresent(),
        "it is not valid yet");
    require(token.isSignedBy(issuer.key(token)), "its signature is not its issuer's");
    return issuer.identity(claims, expires + LEEWAY_MILLIS);
  }

  private Issuer issuerOf(Claims claims) throws TokenRejectedException {
    return issuers.stream()
        .filter(issuer -> issuer.mayHaveIssued(claims))
        .findFirst()
        .orElseThrow(() ->
            new TokenRejectedException(
                "it comes from another issuer than "
                    + issuers.stream().map(Object::toString).collect(Collectors.joining(" and "))));
  }

  private static void require(boolean holds, String otherwise) throws TokenRejectedException {
    if (!holds) {
      throw new TokenRejectedException(otherwise);
    }
  }

  private Verdict refused(String why, long rememberMillis) {
    return new Verdict(null, why, wallMillis.getAsLong() + rememberMillis);
  }

  private Optional<Verdict> known(String token) {
    return Optional.ofNullable(verdicts.synchronous().getIfPresent(digest(token)));
  }

  private static String digest(String token) {
    try {
      return HexFormat.of()
          .formatHex(
              MessageDigest.getInstance("SHA-256").digest(token.getBytes(StandardCharsets.UTF_8)));
    } catch (NoSuchAlgorithmException e) {
      throw new IllegalStateException(e);
    }
  }
}
