// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.oidc;

import io.gpupool.server.identity.FederatedIdentity;
import org.jose4j.jwk.JsonWebKey;

/** An issuer of tokens whose signatures a pool believes. For any thread that may block. */
interface Issuer {
  /** Whether a token says that it comes from this issuer, as far as can be told without asking. */
  boolean mayHaveIssued(Claims claims);

  /** The audience that its tokens must have been issued for (aud). */
  String audience();

  /**
   * The key that a token says it was signed with.
   *
   * @throws TokenRejectedException if there is none, or the token comes from another after all
   */
  JsonWebKey key(Jwt token) throws TokenRejectedException;

  /**
   * The bearer of a token whose signature and times are right.
   *
   * @throws TokenRejectedException if it does not say enough
   */
  FederatedIdentity identity(Claims claims, long validUntilMillis) throws TokenRejectedException;
}
