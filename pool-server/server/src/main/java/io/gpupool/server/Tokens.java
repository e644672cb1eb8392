// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server;

import io.gpupool.server.state.Draft;
import io.gpupool.server.state.RecordStore;
import io.gpupool.server.state.StateException;
import io.gpupool.server.state.Versioned;
import java.security.SecureRandom;
import java.util.Base64;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;

/**
 * Tokens by which callers prove who they are: 256 random bits, of which the pool keeps a hash.
 * Owned by the control thread.
 */
final class Tokens {
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
  private final SecureRandom random = new SecureRandom();

  /** Without {@code required}, any caller may do anything. */
  Tokens(RecordStore records, Audit audit, Timers timers, boolean required) {
    this.records = records;
    this.audit = audit;
    this.timers = timers;
    this.required = required;
  }

  boolean required() {
    return required;
  }

  /** A token as it is shown once. */
  record Made(String text, TokenHash hash) {
    @Override
    public String toString() {
      return "Made[" + hash.id() + "]";
    }
  }

  /** Who shows this token; empty if nobody is known by it. */
  Optional<Actor> authenticate(Optional<String> token) {
    if (!required) {
      return Optional.of(Actor.ANYONE);
    }
    return token
        .map(TokenHash::of)
        .flatMap(hash ->
            valid(hash).map(known -> new Actor(known.tenant(), known.role(), Optional.of(hash))));
  }

  /** Whether what was proved earlier would be believed now. */
  boolean stillHolds(Actor actor) {
    return actor.token().isEmpty() || valid(actor.token().get()).isPresent();
  }

  private Optional<Token> valid(TokenHash hash) {
    return records
        .get(Kinds.TOKENS, hash.text())
        .map(Versioned::value)
        .filter(token -> !token.isExpired(timers.wallMillis()))
        .filter(token -> records.get(Kinds.TENANTS, token.tenant()).isPresent());
  }

  Map<String, Versioned<Token>> all() {
    return records.all(Kinds.TOKENS);
  }

  /**
   * Makes a token.
   *
   * @param validMillis 0: until it is revoked
   */
  Made create(Actor actor, String tenant, Role role, long validMillis, String note)
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
    records.transact(draft -> {
      Tenants.refer(draft, tenant);
      requireFew(tenant);
      add(draft, actor, made, tenant, role, validMillis, HolderName.plain(note));
      return null;
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
      Draft draft,
      Actor actor,
      Made made,
      String tenant,
      Role role,
      long validMillis,
      String note) {
    long nowMillis = timers.wallMillis();
    draft.put(
        Kinds.TOKENS,
        made.hash().text(),
        new Token(
            tenant,
            role,
            nowMillis,
            validMillis == 0 ? OptionalLong.empty() : OptionalLong.of(nowMillis + validMillis),
            note));
    audit.note(draft, actor, "token.create", tenant + "/" + made.hash().id(), role.text());
  }

  /** From now on nobody is known by it. */
  TokenHash revoke(Actor actor, String id) throws RefusedException, StateException {
    return records.transact(draft -> {
      String hash =
          records.all(Kinds.TOKENS).keySet().stream()
              .filter(key -> new TokenHash(key).id().equals(id))
              .findFirst()
              .orElseThrow(() ->
                  new RefusedException(
                      RefusedException.Why.NOT_FOUND,
                      "there is no token '"
                          + HolderName.plain(id)
                          + "'; 'gpupool tenant token list' shows the ids"));
      Optional<Token> token = draft.get(Kinds.TOKENS, hash);
      draft.delete(Kinds.TOKENS, hash);
      audit.note(draft, actor, "token.revoke", token.map(Token::tenant).orElse("") + "/" + id, "");
      return new TokenHash(hash);
    });
  }
}
