// SPDX-License-Identifier: Apache-2.0
package io.gpupool.k8s.certificates;

import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import io.fabric8.kubernetes.api.model.ConfigMap;
import io.fabric8.kubernetes.api.model.ConfigMapBuilder;
import io.fabric8.kubernetes.api.model.HasMetadata;
import io.fabric8.kubernetes.api.model.Secret;
import io.fabric8.kubernetes.api.model.SecretBuilder;
import io.fabric8.kubernetes.api.model.admissionregistration.v1.MutatingWebhook;
import io.fabric8.kubernetes.api.model.admissionregistration.v1.MutatingWebhookConfiguration;
import io.fabric8.kubernetes.client.KubernetesClient;
import io.fabric8.kubernetes.client.dsl.base.PatchContext;
import io.fabric8.kubernetes.client.dsl.base.PatchType;
import java.nio.charset.StandardCharsets;
import java.util.Base64;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * The objects of a release that hold certificates. The chart creates all of them, so the controller
 * needs no right to create any, and none is left when the release is uninstalled.
 */
final class ClusterObjects {
  static final String ROOTS = "ca.crt";

  private final KubernetesClient client;
  private final String release;
  private final String namespace;

  ClusterObjects(KubernetesClient client, String release, String namespace) {
    this.client = client;
    this.release = release;
    this.namespace = namespace;
  }

  /**
   * Returns a Secret.
   *
   * @throws MissingObjectException if it is missing
   */
  Secret secret(String name) {
    Secret secret = client.secrets().inNamespace(namespace).withName(name).get();
    return required(secret, "Secret " + namespace + "/" + name);
  }

  static Map<String, String> text(Secret secret) {
    Map<String, String> text = new HashMap<>();
    if (secret.getData() != null) {
      secret
          .getData()
          .forEach((key, value) ->
              text.put(key, new String(Base64.getDecoder().decode(value), StandardCharsets.UTF_8)));
    }
    return text;
  }

  /**
   * Replaces all data of a Secret if it has not changed since it was read; the API server answers
   * 409 otherwise.
   */
  Secret replace(Secret read, Map<String, String> text) {
    Map<String, String> data = new HashMap<>();
    text.forEach((key, value) -> data.put(key, base64(value)));
    return client
        .secrets()
        .inNamespace(namespace)
        .resource(new SecretBuilder(read).withData(data).build())
        .update();
  }

  /** Announces the roots to pods and API server; returns whether anything changed. */
  boolean tell(String roots) {
    boolean mapChanged = tellPods(roots);
    return tellApiServer(roots) || mapChanged;
  }

  /** Writes the roots to the ConfigMap that is mounted into pods. */
  private boolean tellPods(String roots) {
    String name = release + "-ca";
    ConfigMap map =
        required(
            client.configMaps().inNamespace(namespace).withName(name).get(),
            "ConfigMap " + namespace + "/" + name);
    if (map.getData() != null && roots.equals(map.getData().get(ROOTS))) {
      return false;
    }
    client
        .configMaps()
        .inNamespace(namespace)
        .resource(new ConfigMapBuilder(map).addToData(ROOTS, roots).build())
        .update();
    return true;
  }

  /** Writes the roots to the webhook's configuration; everything else in it is the chart's. */
  private boolean tellApiServer(String roots) {
    MutatingWebhookConfiguration configuration =
        required(
            client
                .admissionRegistration()
                .v1()
                .mutatingWebhookConfigurations()
                .withName(release)
                .get(),
            "MutatingWebhookConfiguration " + release);
    ArrayNode patch = JsonNodeFactory.instance.arrayNode();
    List<MutatingWebhook> webhooks = configuration.getWebhooks();
    String bundle = base64(roots);
    for (int i = 0; i < webhooks.size(); i++) {
      if (!bundle.equals(webhooks.get(i).getClientConfig().getCaBundle())) {
        String path = "/webhooks/" + i;
        // The list may have changed since.
        patch
            .addObject()
            .put("op", "test")
            .put("path", path + "/name")
            .put("value", webhooks.get(i).getName());
        patch
            .addObject()
            .put("op", "add")
            .put("path", path + "/clientConfig/caBundle")
            .put("value", bundle);
      }
    }
    if (patch.isEmpty()) {
      return false;
    }
    client
        .admissionRegistration()
        .v1()
        .mutatingWebhookConfigurations()
        .withName(release)
        .patch(PatchContext.of(PatchType.JSON), patch.toString());
    return true;
  }

  private static <T extends HasMetadata> T required(T found, String what) {
    if (found == null) {
      throw new MissingObjectException(what);
    }
    return found;
  }

  private static String base64(String text) {
    return Base64.getEncoder().encodeToString(text.getBytes(StandardCharsets.UTF_8));
  }
}
