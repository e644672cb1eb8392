// SPDX-License-Identifier: Apache-2.0
package io.gpupool.k8s.command;

import io.fabric8.kubernetes.client.Config;
import io.fabric8.kubernetes.client.ConfigBuilder;
import io.fabric8.kubernetes.client.KubernetesClient;
import io.fabric8.kubernetes.client.KubernetesClientBuilder;
import io.fabric8.kubernetes.client.http.AsyncBody;
import io.fabric8.kubernetes.client.http.HttpRequest;
import io.fabric8.kubernetes.client.http.HttpResponse;
import io.fabric8.kubernetes.client.http.Interceptor;
import io.micrometer.core.instrument.Counter;
import io.micrometer.core.instrument.MeterRegistry;
import java.nio.ByteBuffer;
import java.util.List;

/**
 * A factory of clients of the API server: that of the pod's own cluster, else that of KUBECONFIG.
 */
final class ApiServer {
  private static final int REQUEST_MILLIS = 10_000;
  private static final int RETRIES = 3;

  private final MeterRegistry meters;

  ApiServer(MeterRegistry meters) {
    this.meters = meters;
  }

  private void count(String method, String status) {
    Counter.builder("gpupool.k8s.api.requests")
        .description(
            "requests to the API server, by the status of its answer; none: it did not answer")
        .tag("method", method)
        .tag("status", status)
        .register(meters)
        .increment();
  }

  /** One that has a few seconds for each request and tries it again. */
  KubernetesClient client() {
    return client(REQUEST_MILLIS, RETRIES);
  }

  /**
   * Another.
   *
   * @param retries how often a request is made again that got no answer, or one of the 500s
   */
  KubernetesClient client(int requestMillis, int retries) {
    return client(Config.autoConfigure(null), requestMillis, retries);
  }

  KubernetesClient client(Config server, int requestMillis, int retries) {
    Config config =
        new ConfigBuilder(server)
            .withConnectionTimeout(requestMillis)
            .withRequestTimeout(requestMillis)
            .withRequestRetryBackoffLimit(retries)
            // Java would go on for a quarter of an hour with the one connection that HTTP/2 needs
            // when that is dead and nobody says so. Of HTTP/1.1 it closes those without an answer.
            .withHttp2Disable(true)
            .build();
    return new KubernetesClientBuilder()
        .withConfig(config)
        .withHttpClientBuilderConsumer(
            http -> http.addOrReplaceInterceptor("gpupool-count", new Counting()))
        .build();
  }

  private final class Counting implements Interceptor {
    @Override
    public void after(
        HttpRequest request,
        HttpResponse<?> response,
        AsyncBody.Consumer<List<ByteBuffer>> consumer) {
      count(request.method(), Integer.toString(response.code()));
    }

    @Override
    public void afterConnectionFailure(HttpRequest request, Throwable failure) {
      count(request.method(), "none");
    }
  }
}
