// SPDX-License-Identifier: Apache-2.0
package io.gpupool.rest.metrics;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import io.gpupool.rest.SamplePool;
import io.gpupool.transport.metrics.OtlpCollector;
import io.gpupool.transport.metrics.ProcessMeters;
import io.opentelemetry.proto.collector.metrics.v1.ExportMetricsServiceRequest;
import io.opentelemetry.proto.metrics.v1.Metric;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.URI;
import java.time.Duration;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** A pool's meters and its server's, as a collector of OpenTelemetry is sent them. */
class PoolReporterTest {
  private static final Set<String> WANTED =
      Set.of("gpupool.gpu.memory", "gpupool.lease.gpu", "jvm.memory.used", "gpupool.leases");

  private final BlockingQueue<ExportMetricsServiceRequest> sent = new LinkedBlockingQueue<>();
  private HttpServer collector;

  @BeforeEach
  void start() throws IOException {
    collector = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
    collector.createContext("/v1/metrics", this::take);
    collector.start();
  }

  @AfterEach
  void stop() {
    collector.stop(0);
  }

  @Test
  void report_aPool_collectorIsSentItsMetersAndTheProcess() throws Exception {
    URI url = URI.create("http://127.0.0.1:" + collector.getAddress().getPort());
    OtlpCollector to = new OtlpCollector(new OtlpCollector(url).url(), Duration.ofMillis(300));
    try (ProcessMeters meters = new ProcessMeters("gpupool-server", to);
        PoolReporter _ =
            PoolReporter.start(new SamplePool(3), meters.sent().orElseThrow(), to.step())) {
      Map<String, Metric> metrics;
      do {
        ExportMetricsServiceRequest request = sent.poll(30, TimeUnit.SECONDS);
        assertThat(request).as("what the collector was sent").isNotNull();
        assertThat(request.getResourceMetrics(0).getResource().toString())
            .contains("gpupool-server");
        metrics =
            request.getResourceMetrics(0).getScopeMetrics(0).getMetricsList().stream()
                .collect(Collectors.toMap(Metric::getName, metric -> metric));
        // A report may begin while the meters of the pool are being registered.
      } while (!metrics.keySet().containsAll(WANTED));
      assertThat(metrics.get("gpupool.gpu.memory").getGauge().getDataPointsCount()).isEqualTo(2);
      assertThat(
              Objects.requireNonNull(metrics.get("gpupool.lease.gpu"))
                  .getSum()
                  .getDataPoints(0)
                  .getAsDouble())
          .isEqualTo(2.5);
      assertThat(meters.page(name -> true)).contains("jvm_memory").doesNotContain("gpupool_gpu");
    }
  }

  @Test
  void collector_addressThatIsNone_isRefused() {
    assertThat(new OtlpCollector(URI.create("http://c:4318")).url())
        .hasToString("http://c:4318/v1/metrics");
    assertThat(new OtlpCollector(URI.create("https://c/own/path")).url())
        .hasToString("https://c/own/path");
    assertThatThrownBy(() -> new OtlpCollector(URI.create("collector:4318")))
        .hasMessageContaining("--otlp");
  }

  private void take(HttpExchange exchange) throws IOException {
    try (exchange) {
      sent.add(ExportMetricsServiceRequest.parseFrom(exchange.getRequestBody()));
      exchange.sendResponseHeaders(200, -1);
    }
  }
}
