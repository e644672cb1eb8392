// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.tenant;

import io.gpupool.runtime.Timers;
import io.gpupool.server.identity.FederatedIdentity;
import io.gpupool.server.identity.HolderName;
import io.gpupool.server.identity.Principal;
import io.gpupool.server.identity.Role;
import io.gpupool.server.identity.Token;
import io.gpupool.server.identity.TokenHash;
import io.gpupool.server.oidc.TokenVerifier;
import io.gpupool.server.records.RecordTypes;
import io.gpupool.server.rejection.RefusedException;
import io.gpupool.server.state.RecordStore;
import io.gpupool.server.state.StateException;
import io.gpupool.server.state.Transaction;
import io.gpupool.server.state.Versioned;
import java.security.SecureRandom;
import java.util.Base64;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;

/**
 * The tokens by which callers prove who they are: 256 random bits each, of which the pool keeps a
 * hash. Owned by the control thread.
 */
public final class Tokens {
  private static final String PREFIX = "gpupool_";
  private static final int BYTES = 32;
  private static final int MAX_NOTE = 128;

  /** So that all go in one commit with their tenant, which etcd bounds. */
  private static final int MAX_TOKENS = 64;

  private static final long MAX_VALID_MILLIS = 3650L * 24 * 3600 * 1000;

  private final RecordStore records;
  private final Audit audit;
  private final Timers timers;
  private final boolean required;
  private final @Nullable TokenVerifier verifier;
  private final SecureRandom random = new SecureRandom();

  /**
   * Makes none yet.
   *
   * @param required whether they are needed; else any caller may do anything
   * @param verifier of the tokens of issuers, which are as good as the pool's own tokens
   */
  public Tokens(
      RecordStore records,
      Audit audit,
      Timers timers,
      boolean required,
      @Nullable TokenVerifier verifier) {
    this.records = records;
    this.audit = audit;
    this.timers = timers;
    this.required = required;
    this.verifier = verifier;
  }

  /** Makes tokens without a verifier of other issuers. */
  public Tokens(RecordStore records, Audit audit, Timers timers, boolean required) {
    this(records, audit, timers, required, null);
  }

  public boolean required() {
    return required;
  }

  /** A token as it is shown once. */
  public record Made(String text, TokenHash hash) {
    @Override
    public String toString() {
      return "Made[" + hash.id() + "]";
    }
  }

  /**
   * Completes once {@link #authenticate} knows the bearer of this token, which may take an issuer's
   * answer. For any thread.
   */
  public CompletableFuture<Void> ready(@Nullable String token) {
    return required && verifier != null && token != null && TokenVerifier.isFor(token)
        ? verifier.verified(token)
        : CompletableFuture.completedFuture(null);
  }

  /** Returns the bearer of this token, which must be {@link #ready}; empty if nobody is known. */
  public Optional<Principal> authenticate(@Nullable String token) {
    if (!required) {
      return Optional.of(Principal.ANYONE);
    }
    if (verifier != null && token != null && TokenVerifier.isFor(token)) {
      return verifier
          .find(token)
          .filter(this::isOfUse)
          .map(identity ->
              new Principal(
                  identity.tenant(),
                  identity.podUid().isEmpty() ? Role.highestOf(identity.roles()) : Role.POD,
                  null,
                  identity));
    }
    return Optional.ofNullable(token)
        .map(TokenHash::of)
        .flatMap(
            hash -> valid(hash).map(known -> new Principal(known.tenant(), known.role(), hash)));
  }

  /** Returns whether an earlier proof would be believed now. */
  public boolean stillHolds(Principal principal) {
    if (principal.podUid().isPresent()) {
      // Its lease ends with the pod, whose tokens are short-lived: programs outlive them.
      return true;
    }
    if (principal.identity() != null) {
      return timers.wallMillis() < principal.identity().validUntilMillis()
          && isOfUse(principal.identity());
    }
    return principal.token() == null || valid(principal.token()).isPresent();
  }

  /** Returns when the credentials of a principal expire, since 1970; empty: never. */
  public Optional<Long> expiresAtMillis(Principal principal) {
    if (principal.identity() != null) {
      return Optional.of(principal.identity().validUntilMillis());
    }
    return Optional.ofNullable(principal.token()).flatMap(this::valid).map(Token::expiresAtMillis);
  }

  /** Returns the reason why the token names nobody, and the remedy. */
  public String rejectionReason(@Nullable String token) {
    if (token == null) {
      return "a token is needed: set GPUPOOL_TOKEN or GPUPOOL_TOKEN_FILE; an admin of the pool"
          + " makes one";
    }
    if (verifier == null || !TokenVerifier.isFor(token)) {
      return "the token is not known: it was mistyped, has expired or was revoked; ask an admin for"
          + " a new one";
    }
    return verifier
        .find(token)
        .map(identity ->
            "the token is of tenant '"
                + HolderName.plain(identity.tenant())
                + "', which the pool does not have; an admin of the pool makes it")
        .orElseGet(() -> "the token is not valid here: " + verifier.rejectionReason(token));
  }

  /** Whether the pool has its tenant; who comes from a cluster needs none. */
  private boolean isOfUse(FederatedIdentity identity) {
    return identity.tenant().isEmpty() || exists(identity.tenant());
  }

  private boolean exists(String tenant) {
    return records.get(RecordTypes.TENANTS, tenant).isPresent();
  }

  private Optional<Token> valid(TokenHash hash) {
    return records
        .get(RecordTypes.TOKENS, hash.text())
        .map(Versioned::value)
        .filter(token -> !token.isExpired(timers.wallMillis()))
        .filter(token -> exists(token.tenant()));
  }

  public Map<String, Versioned<Token>> all() {
    return records.all(RecordTypes.TOKENS);
  }

  /**
   * Makes a token.
   *
   * @param validMillis 0: until it is revoked
   */
  public Made create(Principal principal, String tenant, Role role, long validMillis, String note)
      throws RefusedException, StateException {
    if (validMillis < 0 || validMillis > MAX_VALID_MILLIS) {
      throw new RefusedException(
          RefusedException.Why.INVALID, "a token is valid for at most ten years");
    }
    if (note.length() > MAX_NOTE) {
      throw new RefusedException(
          RefusedException.Why.INVALID, "the note has over " + MAX_NOTE + " characters");
    }
    Made made = random();
    records.update(transaction -> {
      Tenants.refer(transaction, tenant);
      requireFew(tenant);
      add(transaction, principal, made, tenant, role, validMillis, HolderName.plain(note));
    });
    return made;
  }

  private void requireFew(String tenant) throws RefusedException {
    long count = all().values().stream().filter(t -> t.value().tenant().equals(tenant)).count();
    if (count >= MAX_TOKENS) {
      throw new RefusedException(
          RefusedException.Why.INVALID,
          "tenant '" + tenant + "' has " + count + " tokens already; revoke those of no more use");
    }
  }

  Made random() {
    byte[] bits = new byte[BYTES];
    random.nextBytes(bits);
    String text = PREFIX + Base64.getUrlEncoder().withoutPadding().encodeToString(bits);
    return new Made(text, TokenHash.of(text));
  }

  /** In a draft that has seen the tenant. */
  void add(
      Transaction transaction,
      Principal principal,
      Made made,
      String tenant,
      Role role,
      long validMillis,
      String note) {
    long nowMillis = timers.wallMillis();
    transaction.put(
        RecordTypes.TOKENS,
        made.hash().text(),
        new Token(
            tenant, role, nowMillis, validMillis == 0 ? null : nowMillis + validMillis, note));
    audit.note(
        transaction, principal, "token.create", tenant + "/" + made.hash().id(), role.text());
  }

  /** From now on nobody is known by it. */
  public TokenHash revoke(Principal principal, String id) throws RefusedException, StateException {
    return records.transact(transaction -> {
      String hash =
          records.all(RecordTypes.TOKENS).keySet().stream()
              .filter(key -> new TokenHash(key).id().equals(id))
              .findFirst()
              .orElseThrow(() ->
                  new RefusedException(
                      RefusedException.Why.NOT_FOUND,
                      "there is no token '" + HolderName.plain(id) + "'"));
      Optional<Token> token = transaction.get(RecordTypes.TOKENS, hash);
      transaction.delete(RecordTypes.TOKENS, hash);
      audit.note(
          transaction,
          principal,
          "token.revoke",
          token.map(Token::tenant).orElse("") + "/" + id,
          "");
      return new TokenHash(hash);
    });
  }
}
