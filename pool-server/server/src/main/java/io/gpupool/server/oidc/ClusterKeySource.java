// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.oidc;

import java.io.IOException;
import java.net.URI;

/**
 * The documents about signing keys that a Kubernetes cluster publishes at its API server, whatever
 * the address in its issuer's name is. The cluster signs its service accounts' tokens with these
 * keys. For any thread.
 */
final class ClusterKeySource implements KeySource {
  private static final String KEYS = "/openid/v1/jwks";

  private final String api;
  private final JsonFetcher documents;

  ClusterKeySource(KubernetesOptions options) {
    api = options.api().toString().replaceFirst("/$", "");
    documents = new JsonFetcher(options.trusted(), options.token());
  }

  @Override
  public PublishedKeys published() throws IOException {
    String issuer =
        documents
            .fetch(URI.create(api + IssuerKeySource.CONFIGURATION))
            .text("issuer")
            .orElseThrow(() -> new IOException("the API server does not say who it is (issuer)"));
    return new PublishedKeys(issuer, documents.keys(URI.create(api + KEYS)));
  }
}
