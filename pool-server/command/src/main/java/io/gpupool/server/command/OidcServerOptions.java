// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.command;

import io.gpupool.server.oidc.OidcOptions;
import java.net.URI;
import java.nio.file.Path;
import java.util.Optional;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Option;

/** The options of a server that accepts the tokens of an OpenID Connect issuer. */
final class OidcServerOptions {
  @Option(
      names = "--oidc-issuer",
      paramLabel = "URL",
      description = "let in who has logged in with this OpenID Connect issuer, too")
  private @Nullable URI issuer;

  @Option(
      names = "--oidc-audience",
      paramLabel = "NAME",
      description = "for whom its tokens must be (aud)")
  private @Nullable String audience;

  @Option(
      names = "--oidc-tenant-claim",
      paramLabel = "NAME",
      defaultValue = OidcOptions.TENANT_CLAIM,
      description = "the claim that names the tenant (default: ${DEFAULT-VALUE})")
  private String tenantClaim = OidcOptions.TENANT_CLAIM;

  @Option(
      names = "--oidc-role-claim",
      paramLabel = "NAME",
      defaultValue = OidcOptions.ROLE_CLAIM,
      description = {
        "the claim that names the roles: read-only, user or admin, or the same with gpupool- in",
        "front; who has none of them is a user (default: ${DEFAULT-VALUE})"
      })
  private String roleClaim = OidcOptions.ROLE_CLAIM;

  @Option(
      names = "--oidc-ca",
      paramLabel = "FILE",
      description = "the roots of the issuer's certificate (default: those of this machine)")
  private @Nullable Path trusted;

  Optional<OidcOptions> options() {
    if ((issuer == null) != (audience == null)) {
      throw new IllegalArgumentException("give --oidc-issuer and --oidc-audience together");
    }
    return issuer == null || audience == null
        ? Optional.empty()
        : Optional.of(new OidcOptions(issuer, audience, tenantClaim, roleClaim, trusted));
  }
}
