// SPDX-License-Identifier: Apache-2.0
package io.gpupool.transport.metrics;

import java.net.URI;
import java.time.Duration;

/**
 * A collector of OpenTelemetry that takes metrics by OTLP over HTTP.
 *
 * @param url with the path, {@code /v1/metrics} by default
 * @param step how often it is sent to
 */
public record OtlpCollector(URI url, Duration step) {
  private static final String PATH = "/v1/metrics";
  private static final Duration STEP = Duration.ofSeconds(15);

  public OtlpCollector {
    if (url.getHost() == null
        || !("http".equals(url.getScheme()) || "https".equals(url.getScheme()))) {
      throw new IllegalArgumentException(
          "--otlp " + url + ": give the collector's address, such as http://127.0.0.1:4318");
    }
    if (url.getPath().isEmpty() || url.getPath().equals("/")) {
      url = url.resolve(PATH);
    }
  }

  public OtlpCollector(URI url) {
    this(url, STEP);
  }
}
