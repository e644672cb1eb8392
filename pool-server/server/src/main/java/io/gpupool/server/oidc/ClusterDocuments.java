// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.oidc;

import java.io.IOException;
import java.net.URI;

/**
 * What a Kubernetes cluster publishes of the keys by which it signs its service accounts' tokens,
 * at its API server, whatever address its issuer's name is. For any thread.
 */
final class ClusterDocuments implements KeySource {
  private static final String KEYS = "/openid/v1/jwks";

  private final String api;
  private final JsonDocuments documents;

  ClusterDocuments(KubernetesOptions options) {
    api = options.api().toString().replaceFirst("/$", "");
    documents = new JsonDocuments(options.trusted(), options.token());
  }

  @Override
  public PublishedKeys published() throws IOException {
    String issuer =
        documents
            .fetch(URI.create(api + IssuerDocuments.CONFIGURATION))
            .text("issuer")
            .orElseThrow(() -> new IOException("the API server does not say who it is (issuer)"));
    return new PublishedKeys(issuer, documents.keys(URI.create(api + KEYS)));
  }
}
