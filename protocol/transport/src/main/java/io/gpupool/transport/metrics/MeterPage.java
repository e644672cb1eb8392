// SPDX-License-Identifier: Apache-2.0
package io.gpupool.transport.metrics;

import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.prometheusmetrics.PrometheusConfig;
import io.micrometer.prometheusmetrics.PrometheusMeterRegistry;
import io.prometheus.metrics.expositionformats.PrometheusTextFormatWriter;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.util.function.Predicate;
import java.util.stream.Collectors;

/** A registry of meters, and the text that Prometheus scrapes. For any thread. */
public final class MeterPage {
  /** The media type of {@link #text}. */
  public static final String TYPE = PrometheusTextFormatWriter.CONTENT_TYPE;

  private static final String UNKNOWN = " NaN";

  private final PrometheusMeterRegistry registry =
      new PrometheusMeterRegistry(PrometheusConfig.DEFAULT);

  public MeterRegistry registry() {
    return registry;
  }

  /**
   * The metrics whose names, without the endings of counters and the like, are asked for. What is
   * not known at the moment is left out.
   */
  public String text(Predicate<String> names) {
    ByteArrayOutputStream out = new ByteArrayOutputStream();
    try {
      PrometheusTextFormatWriter.create()
          .write(out, registry.getPrometheusRegistry().scrape(names));
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
    return out.toString(StandardCharsets.UTF_8)
        .lines()
        .filter(line -> !line.endsWith(UNKNOWN))
        .collect(Collectors.joining("\n", "", "\n"));
  }
}
