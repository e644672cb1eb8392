// SPDX-License-Identifier: Apache-2.0
package io.gpupool.k8s.command.controller;

import io.fabric8.kubernetes.api.model.Secret;
import io.fabric8.kubernetes.api.model.SecretBuilder;
import io.fabric8.kubernetes.client.KubernetesClient;
import io.gpupool.k8s.certificates.MissingObjectException;
import java.security.SecureRandom;
import java.util.Base64;

/**
 * The key from which the ids of lease requests are made, so that nobody else can guess them. It is
 * kept in a Secret that the chart creates empty, and stays the same for as long as the Secret
 * exists.
 */
final class LeaseKey {
  private static final String KEY = "key";
  private static final int BYTES = 32;
  private static final int MIN_BYTES = 16;

  private LeaseKey() {}

  /**
   * Reads the key, and makes it first if there is none. If two callers make it at once, one of them
   * fails and has to ask again.
   */
  static byte[] of(KubernetesClient client, String namespace, String name) {
    Secret secret = client.secrets().inNamespace(namespace).withName(name).get();
    if (secret == null) {
      throw new MissingObjectException("Secret " + namespace + "/" + name);
    }
    String written = secret.getData() == null ? null : secret.getData().get(KEY);
    if (written != null) {
      byte[] key = Base64.getDecoder().decode(written);
      if (key.length < MIN_BYTES) {
        throw new IllegalStateException(
            "the key in Secret " + namespace + "/" + name + " has under " + MIN_BYTES + " bytes");
      }
      return key;
    }
    byte[] key = new byte[BYTES];
    new SecureRandom().nextBytes(key);
    client
        .secrets()
        .inNamespace(namespace)
        .resource(
            new SecretBuilder(secret)
                .addToData(KEY, Base64.getEncoder().encodeToString(key))
                .build())
        .update();
    return key;
  }
}
