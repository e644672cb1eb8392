// SPDX-License-Identifier: Apache-2.0
package io.gpupool.k8s.controller;

import io.fabric8.kubernetes.api.model.EventBuilder;
import io.fabric8.kubernetes.api.model.Pod;
import io.fabric8.kubernetes.api.model.PodBuilder;
import io.fabric8.kubernetes.client.KubernetesClient;
import io.fabric8.kubernetes.client.RequestConfigBuilder;
import io.fabric8.kubernetes.client.dsl.PodResource;
import io.fabric8.kubernetes.client.dsl.base.PatchContext;
import io.fabric8.kubernetes.client.dsl.base.PatchType;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicLong;

/**
 * What the controller calls of the API server, and how often. Blocking; for any thread. Throws
 * {@link io.fabric8.kubernetes.client.KubernetesClientException}.
 */
final class Api {
  private static final int TIMEOUT_MILLIS = 10_000;
  private static final int MAX_NAME = 230;
  private static final int MAX_MESSAGE = 1000;
  private static final String COMPONENT = "gpupool-controller";
  private static final PatchContext JSON_PATCH = PatchContext.of(PatchType.JSON);

  private final KubernetesClient client;
  private final AtomicLong calls = new AtomicLong();
  private final AtomicLong events = new AtomicLong(System.nanoTime());

  Api(KubernetesClient client) {
    // What fails is tried again here, not while a thread waits.
    this.client =
        client
            .newClient(
                new RequestConfigBuilder(client.getConfiguration().getRequestConfig())
                    .withRequestRetryBackoffLimit(0)
                    .withRequestTimeout(TIMEOUT_MILLIS)
                    .build())
            .adapt(KubernetesClient.class);
  }

  /** How many there were, without those of {@link #touch}. */
  long calls() {
    return calls.get();
  }

  Optional<Pod> get(PodKey pod) {
    calls.incrementAndGet();
    return Optional.ofNullable(
            client.pods().inNamespace(pod.namespace()).withName(pod.name()).get())
        .filter(found -> found.getMetadata().getUid().equals(pod.uid()));
  }

  Pod patch(PodKey pod, String jsonPatch) {
    calls.incrementAndGet();
    return known(pod).patch(JSON_PATCH, jsonPatch);
  }

  Pod patchStatus(PodKey pod, String jsonPatch) {
    calls.incrementAndGet();
    return known(pod).subresource("status").patch(JSON_PATCH, jsonPatch);
  }

  void event(PodKey pod, boolean warning, String reason, String message) {
    calls.incrementAndGet();
    String now = Instant.now().truncatedTo(ChronoUnit.SECONDS).toString();
    String name = pod.name().substring(0, Math.min(MAX_NAME, pod.name().length()));
    client
        .v1()
        .events()
        .inNamespace(pod.namespace())
        .resource(
            new EventBuilder()
                .withNewMetadata()
                .withNamespace(pod.namespace())
                .withName(name + "." + Long.toHexString(events.incrementAndGet()))
                .endMetadata()
                .withNewInvolvedObject()
                .withApiVersion("v1")
                .withKind("Pod")
                .withNamespace(pod.namespace())
                .withName(pod.name())
                .withUid(pod.uid())
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

  /** Returns if the API server answers at all. */
  void touch() {
    client.raw("/version");
  }

  /** One that the client need not fetch first. */
  private PodResource known(PodKey pod) {
    return client
        .pods()
        .resource(
            new PodBuilder()
                .withNewMetadata()
                .withNamespace(pod.namespace())
                .withName(pod.name())
                .endMetadata()
                .build());
  }
}
