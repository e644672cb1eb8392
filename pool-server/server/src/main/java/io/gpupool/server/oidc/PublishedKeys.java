// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.oidc;

import java.security.interfaces.RSAPublicKey;
import java.util.List;
import java.util.Optional;
import org.jose4j.jwk.JsonWebKey;
import org.jose4j.jwk.PublicJsonWebKey;
import org.jose4j.jwk.SimpleJwkFilter;
import org.jose4j.lang.JoseException;

/**
 * The keys that an issuer publishes (RFC 7517), as far as they can be used here.
 *
 * @param issuer the name of the issuer in its tokens
 */
record PublishedKeys(String issuer, List<JsonWebKey> keys) {
  static final PublishedKeys NONE = new PublishedKeys("", List.of());
  private static final int MIN_RSA_BITS = 2048;

  PublishedKeys {
    keys = List.copyOf(keys);
  }

  /** Reads one key; empty if it is secret, too weak, damaged or of an unknown kind. */
  static Optional<JsonWebKey> read(Claims jwk) {
    try {
      return Optional.of(JsonWebKey.Factory.newJwk(jwk.json().toString()))
          .filter(key -> key instanceof PublicJsonWebKey)
          .filter(key ->
              !(key.getKey() instanceof RSAPublicKey rsa)
                  || rsa.getModulus().bitLength() >= MIN_RSA_BITS);
    } catch (JoseException | RuntimeException e) {
      return Optional.empty();
    }
  }

  /**
   * The key that a token says it was signed with: of the kind of its algorithm, for signatures, and
   * of the token's key id. Empty if none fits, or more than one.
   */
  Optional<JsonWebKey> find(Jwt token) {
    SimpleJwkFilter filter = new SimpleJwkFilter();
    token.header().text("kid").ifPresent(id -> filter.setKid(id, SimpleJwkFilter.VALUE_REQUIRED));
    filter.setUse("sig", SimpleJwkFilter.OMITTED_OKAY);
    filter.setKeyOperations(new String[] {"verify"}, SimpleJwkFilter.OMITTED_OKAY);
    filter.setAlg(token.algorithm().getAlgorithmIdentifier(), SimpleJwkFilter.OMITTED_OKAY);
    filter.setKty(token.algorithm().getKeyType());
    token.curve().ifPresent(curve -> filter.setCrv(curve, SimpleJwkFilter.VALUE_REQUIRED));
    List<JsonWebKey> fitting = filter.filter(keys);
    return fitting.size() == 1 ? Optional.of(fitting.getFirst()) : Optional.empty();
  }
}
