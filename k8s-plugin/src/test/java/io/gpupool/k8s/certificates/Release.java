// SPDX-License-Identifier: Apache-2.0
package io.gpupool.k8s.certificates;

import io.fabric8.kubernetes.api.model.ConfigMapBuilder;
import io.fabric8.kubernetes.api.model.SecretBuilder;
import io.fabric8.kubernetes.api.model.admissionregistration.v1.MutatingWebhookBuilder;
import io.fabric8.kubernetes.api.model.admissionregistration.v1.MutatingWebhookConfigurationBuilder;
import io.fabric8.kubernetes.api.model.coordination.v1.LeaseBuilder;
import io.fabric8.kubernetes.client.KubernetesClient;
import java.nio.charset.StandardCharsets;
import java.util.Base64;
import java.util.List;
import java.util.Map;
import java.util.logging.Level;
import java.util.logging.Logger;
import java.util.stream.Stream;

/** The objects of a release as the chart creates them, in an API server for tests. */
public final class Release {
  public static final String NAME = "pool";
  public static final String NAMESPACE = "gpus";

  // It tells of every request.
  private static final Logger MOCK_LOG = Logger.getLogger("io.fabric8.mockwebserver");

  static {
    MOCK_LOG.setLevel(Level.WARNING);
  }

  private final KubernetesClient client;

  /** Creates them, without any data. */
  public Release(KubernetesClient client) {
    this.client = client;
    for (String secret : List.of("ca", "webhook-tls", "server-tls", "leases")) {
      client
          .resource(
              new SecretBuilder()
                  .withNewMetadata()
                  .withNamespace(NAMESPACE)
                  .withName(NAME + "-" + secret)
                  .endMetadata()
                  .withType("Opaque")
                  .build())
          .create();
    }
    client
        .resource(
            new ConfigMapBuilder()
                .withNewMetadata()
                .withNamespace(NAMESPACE)
                .withName(NAME + "-ca")
                .endMetadata()
                .build())
        .create();
    client
        .resource(
            new LeaseBuilder()
                .withNewMetadata()
                .withNamespace(NAMESPACE)
                .withName(NAME + "-controller")
                .endMetadata()
                .build())
        .create();
    client
        .resource(
            new MutatingWebhookConfigurationBuilder()
                .withNewMetadata()
                .withName(NAME)
                .endMetadata()
                .withWebhooks(
                    Stream.of("pods.gpupool.io", "workloads.gpupool.io")
                        .map(name ->
                            new MutatingWebhookBuilder()
                                .withName(name)
                                .withNewClientConfig()
                                .withNewService()
                                .withName(NAME + "-webhook")
                                .withNamespace(NAMESPACE)
                                .endService()
                                .endClientConfig()
                                .build())
                        .toList())
                .build())
        .create();
  }

  Map<String, String> secret(String kind) {
    return ClusterObjects.text(
        client.secrets().inNamespace(NAMESPACE).withName(NAME + "-" + kind).get());
  }

  /** What pods are given as roots. */
  public String roots() {
    Map<String, String> data =
        client.configMaps().inNamespace(NAMESPACE).withName(NAME + "-ca").get().getData();
    return data == null ? "" : data.getOrDefault("ca.crt", "");
  }

  /** What the API server takes as roots, of each webhook. */
  List<String> bundles() {
    return client
        .admissionRegistration()
        .v1()
        .mutatingWebhookConfigurations()
        .withName(NAME)
        .get()
        .getWebhooks()
        .stream()
        .map(webhook -> webhook.getClientConfig().getCaBundle())
        .map(bundle ->
            bundle == null
                ? ""
                : new String(Base64.getDecoder().decode(bundle), StandardCharsets.UTF_8))
        .toList();
  }
}
