// SPDX-License-Identifier: Apache-2.0
package io.gpupool.k8s.admission;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assumptions.assumeThat;

import com.fasterxml.jackson.databind.json.JsonMapper;
import io.gpupool.transport.tls.TestAuthority;
import io.gpupool.transport.tls.TlsContext;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * How long the webhook's answers take, over TLS, beside requests that it has nothing to do for;
 * only with {@code -Dgpupool.k8s.latency=true}.
 */
class AdmissionLatencyIT {
  private static final JsonMapper JSON = new JsonMapper();
  private static final int CLIENTS = Integer.getInteger("gpupool.k8s.latency.clients", 4);
  private static final int EACH = 5000;

  @TempDir Path folder;

  @Test
  void reviews_ofAllManifests_areAnswered() throws Exception {
    assumeThat(Boolean.getBoolean("gpupool.k8s.latency"))
        .as("skipped: it measures; give -Dgpupool.k8s.latency=true")
        .isTrue();
    TestAuthority authority = new TestAuthority(folder);
    TestAuthority.Issued issued = authority.issue("webhook", "IP:127.0.0.1");
    Admission admission =
        new Admission(new Settings(true, () -> OptionalLong.of(Manifest.GPU_MEMORY_BYTES)));
    try (TlsContext tls = TlsContext.following(TestAuthority.server(issued, Optional.empty()));
        WebhookServer server =
            WebhookServer.start(
                new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), tls, admission);
        TlsContext trust = TlsContext.of(authority.client())) {
      String address = "https://127.0.0.1:" + server.port();
      HttpRequest nothing = request(address + "/healthz").GET().build();
      List<HttpRequest> reviews = new ArrayList<>();
      for (Manifest manifest : Manifest.all()) {
        reviews.add(
            request(address + "/mutate")
                .header("Content-Type", "application/json")
                .POST(BodyPublishers.ofByteArray(JSON.writeValueAsBytes(manifest.review())))
                .build());
      }
      measure(reviews, trust);
      System.out.println("webhook: " + CLIENTS + " clients, microseconds");
      tell("healthz", measure(List.of(nothing), trust));
      tell("reviews", measure(reviews, trust));
    }
  }

  private static HttpRequest.Builder request(String uri) {
    return HttpRequest.newBuilder(URI.create(uri)).version(HttpClient.Version.HTTP_1_1);
  }

  /** Each client has one connection and waits for each answer. */
  private static long[] measure(List<HttpRequest> requests, TlsContext trust) throws Exception {
    try (ExecutorService threads = Executors.newFixedThreadPool(CLIENTS)) {
      List<Callable<long[]>> clients = new ArrayList<>();
      for (int client = 0; client < CLIENTS; client++) {
        int first = client * 7;
        clients.add(() -> measure(requests, first, trust));
      }
      List<long[]> all = new ArrayList<>();
      for (Future<long[]> done : threads.invokeAll(clients)) {
        all.add(done.get());
      }
      return all.stream().flatMapToLong(Arrays::stream).sorted().toArray();
    }
  }

  private static long[] measure(List<HttpRequest> requests, int first, TlsContext trust)
      throws Exception {
    long[] nanos = new long[EACH];
    try (HttpClient client = HttpClient.newBuilder().sslContext(trust.context()).build()) {
      for (int i = 0; i < EACH; i++) {
        HttpRequest request = requests.get((first + i) % requests.size());
        long beganNanos = System.nanoTime();
        assertThat(client.send(request, BodyHandlers.ofByteArray()).statusCode()).isEqualTo(200);
        nanos[i] = System.nanoTime() - beganNanos;
      }
    }
    return nanos;
  }

  private static void tell(String name, long[] nanos) {
    System.out.printf(
        "webhook: %s: %d, median %d, 99 %% %d, 99.9 %% %d, most %d%n",
        name,
        nanos.length,
        at(nanos, 0.5),
        at(nanos, 0.99),
        at(nanos, 0.999),
        nanos[nanos.length - 1] / 1000);
  }

  private static long at(long[] nanos, double part) {
    return nanos[(int) (nanos.length * part)] / 1000;
  }
}
