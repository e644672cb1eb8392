// SPDX-License-Identifier: Apache-2.0
package io.gpupool.k8s.api;

import io.fabric8.kubernetes.api.model.EventBuilder;
import io.fabric8.kubernetes.client.KubernetesClient;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.concurrent.atomic.AtomicLong;

/** A writer of pods' events, in the name of the release's controller. Blocking; for any thread. */
public final class PodEventSink {
  private static final int MAX_NAME = 230;
  private static final int MAX_MESSAGE = 1000;
  private static final String COMPONENT = "gpupool-controller";

  private final KubernetesClient client;
  private final AtomicLong numbers = new AtomicLong(System.nanoTime());

  public PodEventSink(KubernetesClient client) {
    this.client = client;
  }

  /**
   * Writes an event.
   *
   * @param message cut off if it is longer than Kubernetes accepts
   * @throws io.fabric8.kubernetes.client.KubernetesClientException if the event cannot be written
   */
  public void write(
      String namespace, String pod, String uid, boolean warning, String reason, String message) {
    String now = Instant.now().truncatedTo(ChronoUnit.SECONDS).toString();
    String name = pod.substring(0, Math.min(MAX_NAME, pod.length()));
    client
        .v1()
        .events()
        .inNamespace(namespace)
        .resource(
            new EventBuilder()
                .withNewMetadata()
                .withNamespace(namespace)
                .withName(name + "." + Long.toHexString(numbers.incrementAndGet()))
                .endMetadata()
                .withNewInvolvedObject()
                .withApiVersion("v1")
                .withKind("Pod")
                .withNamespace(namespace)
                .withName(pod)
                .withUid(uid)
                .endInvolvedObject()
                .withType(warning ? "Warning" : "Normal")
                .withReason(reason)
                .withMessage(message.substring(0, Math.min(MAX_MESSAGE, message.length())))
                .withNewSource()
                .withComponent(COMPONENT)
                .endSource()
                .withFirstTimestamp(now)
                .withLastTimestamp(now)
                .withCount(1)
                .build())
        .create();
  }
}
