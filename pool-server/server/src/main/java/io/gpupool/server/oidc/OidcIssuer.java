// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.oidc;

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
  public JsonWebKey key(Jwt token) throws LoginException {
    return keys.find(token);
  }

  @Override
  public Login login(Claims claims, long validUntilMillis) throws LoginException {
    List<String> tenants = claims.texts(options.tenantClaim());
    if (tenants.size() != 1 || tenants.getFirst().isEmpty()) {
      throw new LoginException(
          "it names "
              + (tenants.size() < 2 ? "no tenant" : "several tenants")
              + " (claim "
              + options.tenantClaim()
              + ")");
    }
    String subject =
        claims.text("sub").orElseThrow(() -> new LoginException("it is of nobody (sub)"));
    return new Login(
        subject, tenants.getFirst(), claims.texts(options.roleClaim()), validUntilMillis);
  }

  @Override
  public String toString() {
    return options.issuer().toString();
  }
}
