// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.oidc;

import java.net.URI;
import java.nio.file.Path;
import java.util.List;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * The options for a Kubernetes cluster whose pods use the pool. Pods prove their identity by the
 * tokens of their service accounts, which the cluster signs with keys that its API server
 * publishes.
 *
 * @param api address of the API server
 * @param trusted the roots of its certificate; null: those of this machine
 * @param token file with the token to show to it; null: none
 * @param audience for which tokens must have been issued
 * @param admins service accounts, NAMESPACE/NAME, that are admins of the pool
 * @param readers service accounts that may see the pool
 */
public record KubernetesOptions(
    URI api,
    @Nullable Path trusted,
    @Nullable Path token,
    String audience,
    Set<String> admins,
    Set<String> readers) {
  public static final String AUDIENCE = "gpupool.io";

  public KubernetesOptions {
    admins = Set.copyOf(admins);
    readers = Set.copyOf(readers);
    if (!OidcOptions.isSafe(api)) {
      throw new IllegalArgumentException(
          "--kubernetes-api " + api + ": give the API server's https:// address");
    }
    if (audience.isBlank()) {
      throw new IllegalArgumentException("--kubernetes-audience must not be empty");
    }
    for (Set<String> accounts : List.of(admins, readers)) {
      for (String account : accounts) {
        if (!account.matches("[a-z0-9.-]+/[a-z0-9.-]+")) {
          throw new IllegalArgumentException(
              "'" + account + "' is no service account: write NAMESPACE/NAME");
        }
      }
    }
  }
}
