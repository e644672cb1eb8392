// SPDX-License-Identifier: Apache-2.0
package io.gpupool.k8s.controller.pod;

import io.fabric8.kubernetes.api.model.Pod;
import io.fabric8.kubernetes.api.model.PodBuilder;
import io.fabric8.kubernetes.client.KubernetesClient;
import io.fabric8.kubernetes.client.RequestConfigBuilder;
import io.fabric8.kubernetes.client.dsl.PodResource;
import io.fabric8.kubernetes.client.dsl.base.PatchContext;
import io.fabric8.kubernetes.client.dsl.base.PatchType;
import io.gpupool.k8s.api.PodEventSink;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicLong;

/**
 * The controller's calls to the API server, and their count. Blocking; for any thread. Throws
 * {@link io.fabric8.kubernetes.client.KubernetesClientException}.
 */
public final class Api {
  private static final int TIMEOUT_MILLIS = 10_000;
  private static final PatchContext JSON_PATCH = PatchContext.of(PatchType.JSON);

  private final KubernetesClient client;
  private final AtomicLong calls = new AtomicLong();
  private final PodEventSink events;

  public Api(KubernetesClient client) {
    // The controller retries failed calls itself, so that no thread waits.
    this.client =
        client
            .newClient(
                new RequestConfigBuilder(client.getConfiguration().getRequestConfig())
                    .withRequestRetryBackoffLimit(0)
                    .withRequestTimeout(TIMEOUT_MILLIS)
                    .build())
            .adapt(KubernetesClient.class);
    events = new PodEventSink(this.client);
  }

  /** Returns the number of calls, without those of {@link #touch}. */
  public long calls() {
    return calls.get();
  }

  public Optional<Pod> get(PodKey pod) {
    calls.incrementAndGet();
    return Optional.ofNullable(
            client.pods().inNamespace(pod.namespace()).withName(pod.name()).get())
        .filter(found -> found.getMetadata().getUid().equals(pod.uid()));
  }

  public Pod patch(PodKey pod, String jsonPatch) {
    calls.incrementAndGet();
    return known(pod).patch(JSON_PATCH, jsonPatch);
  }

  public Pod patchStatus(PodKey pod, String jsonPatch) {
    calls.incrementAndGet();
    return known(pod).subresource("status").patch(JSON_PATCH, jsonPatch);
  }

  public void event(PodKey pod, boolean warning, String reason, String message) {
    calls.incrementAndGet();
    events.write(pod.namespace(), pod.name(), pod.uid(), warning, reason, message);
  }

  /** Returns if the API server answers at all. */
  public void touch() {
    client.raw("/version");
  }

  /** Returns a handle that the client need not fetch first. */
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
