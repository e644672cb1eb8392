// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.oidc;

import java.net.InetAddress;
import java.net.URI;
import java.net.UnknownHostException;
import java.nio.file.Path;
import org.jspecify.annotations.Nullable;

/**
 * The options for an OpenID Connect issuer whose tokens a pool accepts.
 *
 * @param issuer as it stands in the tokens, without its configuration's path
 * @param audience for which tokens must have been issued
 * @param tenantClaim the claim that names the tenant
 * @param roleClaim the claim that names the roles
 * @param trusted the roots of the issuer's certificate; null: those of this machine
 */
public record OidcOptions(
    URI issuer, String audience, String tenantClaim, String roleClaim, @Nullable Path trusted) {
  public static final String TENANT_CLAIM = "gpupool_tenant";
  public static final String ROLE_CLAIM = "gpupool_role";

  public OidcOptions {
    if (audience.isBlank() || tenantClaim.isBlank() || roleClaim.isBlank()) {
      throw new IllegalArgumentException(
          "--oidc-audience and the names of claims must not be empty");
    }
    if (!isSafe(issuer) || issuer.getRawQuery() != null || issuer.getRawFragment() != null) {
      throw new IllegalArgumentException(
          "--oidc-issuer "
              + issuer
              + ": give its https:// address (http:// on this machine only), as it stands in its"
              + " tokens");
    }
  }

  /** Returns whether nobody between this server and the address can replace its keys. */
  static boolean isSafe(URI address) {
    if (address.getHost() == null || address.getRawUserInfo() != null) {
      return false;
    }
    try {
      return "https".equals(address.getScheme())
          || ("http".equals(address.getScheme())
              && InetAddress.getByName(address.getHost()).isLoopbackAddress());
    } catch (UnknownHostException e) {
      return false;
    }
  }
}
