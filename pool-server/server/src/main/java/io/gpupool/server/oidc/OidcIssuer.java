// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.oidc;

import io.gpupool.server.identity.FederatedIdentity;
import java.util.List;
import org.jose4j.jwk.JsonWebKey;

/** An issuer of OpenID Connect. */
final class OidcIssuer implements Issuer {
  private final OidcOptions options;
  private final IssuerKeys keys;

  OidcIssuer(OidcOptions options, IssuerKeys keys) {
    this.options = options;
    this.keys = keys;
  }

  @Override
  public boolean mayHaveIssued(Claims claims) {
    return claims.text("iss").filter(options.issuer().toString()::equals).isPresent();
  }

  @Override
  public String audience() {
    return options.audience();
  }

  @Override
  public JsonWebKey key(Jwt token) throws TokenRejectedException {
    return keys.find(token);
  }

  @Override
  public FederatedIdentity identity(Claims claims, long validUntilMillis)
      throws TokenRejectedException {
    List<String> tenants = claims.texts(options.tenantClaim());
    if (tenants.size() != 1 || tenants.getFirst().isEmpty()) {
      throw new TokenRejectedException(
          "it names "
              + (tenants.size() < 2 ? "no tenant" : "several tenants")
              + " (claim "
              + options.tenantClaim()
              + ")");
    }
    String subject =
        claims
            .text("sub")
            .orElseThrow(() -> new TokenRejectedException("it names no subject (sub)"));
    return new FederatedIdentity(
        subject, tenants.getFirst(), claims.texts(options.roleClaim()), validUntilMillis);
  }

  @Override
  public String toString() {
    return options.issuer().toString();
  }
}
