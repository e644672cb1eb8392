// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.command;

import io.gpupool.cli.Environment;
import io.gpupool.server.oidc.KubernetesOptions;
import java.net.URI;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Optional;
import java.util.Set;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Option;

/** The Kubernetes cluster whose pods use a server's pool. */
final class KubernetesServerOptions {
  /** Where a pod finds what its service account shows to the API server. */
  private static final Path ACCOUNT = Path.of("/var/run/secrets/kubernetes.io/serviceaccount");

  @Option(
      names = "--kubernetes",
      description = {
        "let pods of a Kubernetes cluster use the leases that its controller has for them; they",
        "prove who they are by the tokens of their service accounts"
      })
  private boolean enabled;

  @Option(
      names = "--kubernetes-api",
      paramLabel = "URL",
      description = "the cluster's API server (default: that of the pod that this runs in)")
  private @Nullable URI api;

  @Option(
      names = "--kubernetes-ca",
      paramLabel = "FILE",
      description = "the roots of its certificate (default: those that the pod is given)")
  private @Nullable Path trusted;

  @Option(
      names = "--kubernetes-token",
      paramLabel = "FILE",
      description = "what is shown to it (default: the token of the pod's service account)")
  private @Nullable Path token;

  @Option(
      names = "--kubernetes-audience",
      paramLabel = "NAME",
      defaultValue = KubernetesOptions.AUDIENCE,
      description = "for whom tokens must be (default: ${DEFAULT-VALUE})")
  private String audience = KubernetesOptions.AUDIENCE;

  @Option(
      names = "--kubernetes-admin",
      paramLabel = "NAMESPACE/NAME",
      description = "a service account that is an admin here: the controller's; may be repeated")
  private Set<String> admins = Set.of();

  @Option(
      names = "--kubernetes-reader",
      paramLabel = "NAMESPACE/NAME",
      description = "a service account that sees the pool: the nodes'; may be repeated")
  private Set<String> readers = Set.of();

  Optional<KubernetesOptions> options() {
    if (!enabled) {
      if (api != null || !admins.isEmpty() || !readers.isEmpty()) {
        throw new IllegalArgumentException("--kubernetes-... needs --kubernetes, too");
      }
      return Optional.empty();
    }
    return Optional.of(
        new KubernetesOptions(
            Optional.ofNullable(api)
                .or(KubernetesServerOptions::apiOfPod)
                .orElseThrow(() ->
                    new IllegalArgumentException(
                        "this runs in no pod: name the API server with --kubernetes-api URL")),
            trusted != null ? trusted : ofPod("ca.crt"),
            token != null ? token : ofPod("token"),
            audience,
            admins,
            readers));
  }

  private static Optional<URI> apiOfPod() {
    return Environment.variable("KUBERNETES_SERVICE_HOST")
        .map(host ->
            URI.create(
                "https://"
                    + (host.contains(":") ? "[" + host + "]" : host)
                    + ":"
                    + Environment.variable("KUBERNETES_SERVICE_PORT").orElse("443")));
  }

  private static @Nullable Path ofPod(String name) {
    Path file = ACCOUNT.resolve(name);
    return Files.exists(file) ? file : null;
  }
}
