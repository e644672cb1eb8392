// SPDX-License-Identifier: Apache-2.0
package io.gpupool.k8s.command.controller;

import io.fabric8.kubernetes.api.model.Secret;
import io.fabric8.kubernetes.client.KubernetesClient;
import io.gpupool.transport.tls.TlsContext;
import io.gpupool.transport.tls.TlsFiles;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Base64;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/** A source of the webhook's certificate. Used by one thread. */
interface WebhookCertificate {
  /**
   * Returns the current certificate; always the same context once there is one.
   *
   * @throws IOException if it cannot be used; the message is for people
   */
  Optional<TlsContext> look() throws IOException;

  /** Returns how often to look for a new certificate. */
  Duration lookEvery();

  /**
   * The certificate in a Secret, read from the API server: a mounted one would come a minute late.
   */
  final class InSecret implements WebhookCertificate {
    private final KubernetesClient client;
    private final String namespace;
    private final String name;
    private @Nullable TlsContext context;
    private String shown = "";

    InSecret(KubernetesClient client, String namespace, String name) {
      this.client = client;
      this.namespace = namespace;
      this.name = name;
    }

    @Override
    public Optional<TlsContext> look() throws IOException {
      Secret secret = client.secrets().inNamespace(namespace).withName(name).get();
      if (secret == null) {
        throw new IOException("there is no " + this + "; 'helm upgrade' brings it back");
      }
      String certificate = text(secret, "tls.crt");
      String key = text(secret, "tls.key");
      if (!certificate.isEmpty() && !key.isEmpty() && !certificate.equals(shown)) {
        if (context != null) {
          context.present(toString(), certificate, key);
        } else {
          context = TlsContext.presenting(toString(), certificate, key);
        }
        shown = certificate;
      }
      return Optional.ofNullable(context);
    }

    private static String text(Secret secret, String key) {
      String value = secret.getData() == null ? null : secret.getData().get(key);
      return value == null
          ? ""
          : new String(Base64.getDecoder().decode(value), StandardCharsets.US_ASCII);
    }

    @Override
    public Duration lookEvery() {
      return Duration.ofSeconds(15);
    }

    @Override
    public String toString() {
      return "Secret " + namespace + "/" + name;
    }
  }

  /** The certificate in a folder with tls.crt and tls.key, such as another's mounted Secret. */
  final class InFolder implements WebhookCertificate {
    private final Path folder;
    private @Nullable TlsContext context;

    InFolder(Path folder) {
      this.folder = folder;
    }

    @Override
    public Optional<TlsContext> look() throws IOException {
      Path certificate = folder.resolve("tls.crt");
      Path key = folder.resolve("tls.key");
      if (context == null && Files.exists(certificate) && Files.exists(key)) {
        context = TlsContext.following(new TlsFiles(certificate, key, null));
      }
      return Optional.ofNullable(context);
    }

    @Override
    public Duration lookEvery() {
      return Duration.ofMinutes(1);
    }

    @Override
    public String toString() {
      return folder.toString();
    }
  }
}
