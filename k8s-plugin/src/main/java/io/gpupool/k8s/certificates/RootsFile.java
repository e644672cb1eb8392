// SPDX-License-Identifier: Apache-2.0
package io.gpupool.k8s.certificates;

import io.fabric8.kubernetes.api.model.ConfigMap;
import io.fabric8.kubernetes.client.KubernetesClient;
import io.fabric8.kubernetes.client.KubernetesClientException;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.time.Duration;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A file with the release's roots, kept as in their ConfigMap. The controller cannot mount that
 * ConfigMap, because it fills it itself and the kubelet would deliver it a minute late. It has its
 * own thread; for any thread.
 */
public final class RootsFile implements AutoCloseable {
  private static final Logger LOG = LoggerFactory.getLogger(RootsFile.class);
  private static final Duration SOON = Duration.ofMillis(500);
  private static final Duration USUALLY = Duration.ofSeconds(15);

  private final KubernetesClient client;
  private final String namespace;
  private final String name;
  private final Path file;
  private final Thread thread;
  private String written = "";
  private String failure = "";

  private RootsFile(KubernetesClient client, String release, String namespace, Path file) {
    this.client = client;
    this.namespace = namespace;
    this.name = release + "-ca";
    this.file = file;
    thread = Thread.ofVirtual().name("roots-file").unstarted(this::run);
  }

  /**
   * Starts to keep the file.
   *
   * @param client not closed with this
   */
  public static RootsFile keep(
      KubernetesClient client, String release, String namespace, Path file) {
    RootsFile kept = new RootsFile(client, release, namespace, file);
    kept.thread.start();
    return kept;
  }

  private void run() {
    try {
      while (true) {
        try {
          look();
          failure = "";
        } catch (KubernetesClientException | IOException e) {
          tell("the roots of certificates cannot be kept in " + file + ": " + e.getMessage());
        }
        Thread.sleep(written.isEmpty() ? SOON : USUALLY);
      }
    } catch (InterruptedException e) {
      // Closed.
    }
  }

  private void look() throws IOException {
    ConfigMap map = client.configMaps().inNamespace(namespace).withName(name).get();
    String roots =
        map == null || map.getData() == null
            ? ""
            : map.getData().getOrDefault(ClusterObjects.ROOTS, "");
    if (roots.isEmpty() || roots.equals(written)) {
      return;
    }
    // Replace the file in one step: it may be read at any time.
    Path part = file.resolveSibling(file.getFileName() + ".part");
    Files.writeString(part, roots);
    Files.move(part, file, StandardCopyOption.ATOMIC_MOVE);
    written = roots;
  }

  private void tell(String text) {
    if (!text.equals(failure) && !Thread.currentThread().isInterrupted()) {
      failure = text;
      LOG.warn(text);
    }
  }

  @Override
  public void close() {
    thread.interrupt();
  }
}
