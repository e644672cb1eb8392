// SPDX-License-Identifier: Apache-2.0
package io.gpupool.k8s.command.process;

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
public final class ApiServer {
  private static final int REQUEST_MILLIS = 10_000;
  private static final int RETRIES = 3;

  private final MeterRegistry meters;

  public ApiServer(MeterRegistry meters) {
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

  /** Creates a client that allows a few seconds for each request and retries it. */
  public KubernetesClient client() {
    return client(REQUEST_MILLIS, RETRIES);
  }

  /**
   * Creates a client.
   *
   * @param retries how often a request is repeated that got no answer, or a 5xx one
   */
  public KubernetesClient client(int requestMillis, int retries) {
    return client(Config.autoConfigure(null), requestMillis, retries);
  }

  KubernetesClient client(Config server, int requestMillis, int retries) {
    Config config =
        new ConfigBuilder(server)
            .withConnectionTimeout(requestMillis)
            .withRequestTimeout(requestMillis)
            .withRequestRetryBackoffLimit(retries)
            // When the single connection of HTTP/2 is dead without notice, Java would use it for
            // another quarter of an hour. It closes HTTP/1.1 connections that do not answer.
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
