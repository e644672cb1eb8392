// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.oidc;

import java.io.IOException;
import java.net.URI;
import java.nio.file.Path;
import org.jspecify.annotations.Nullable;

/** The documents that an OpenID Connect issuer publishes at its own address. For any thread. */
final class IssuerKeySource implements KeySource {
  static final String CONFIGURATION = "/.well-known/openid-configuration";

  private final URI issuer;
  private final JsonFetcher documents;

  IssuerKeySource(URI issuer, @Nullable Path trusted) {
    this.issuer = issuer;
    documents = new JsonFetcher(trusted, null);
  }

  @Override
  public PublishedKeys published() throws IOException {
    String base = issuer.toString().replaceFirst("/$", "");
    Claims configuration = documents.fetch(URI.create(base + CONFIGURATION));
    String named = configuration.text("issuer").orElse("");
    if (!named.equals(issuer.toString())) {
      throw new IOException(
          "what is at " + base + CONFIGURATION + " is of another issuer: " + Jwt.plain(named));
    }
    URI keys = URI.create(configuration.text("jwks_uri").orElse(""));
    if (!OidcOptions.isSafe(keys)
        || (issuer.getScheme().equals("https") && !keys.getScheme().equals("https"))) {
      throw new IOException("its keys are not at an https:// address: " + keys);
    }
    return new PublishedKeys(named, documents.keys(keys));
  }
}
