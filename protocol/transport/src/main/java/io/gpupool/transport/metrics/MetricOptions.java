// SPDX-License-Identifier: Apache-2.0
package io.gpupool.transport.metrics;

import java.net.URI;
import java.util.Optional;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Option;

/** The options of a command whose process sends metrics. */
public final class MetricOptions {
  @Option(
      names = "--otlp",
      paramLabel = "URL",
      description = {
        "an OpenTelemetry collector that metrics are sent to by OTLP over HTTP, such as",
        "http://127.0.0.1:4318 (default: none)"
      })
  private @Nullable URI otlp;

  /**
   * Returns the collector that metrics are sent to; empty: none.
   *
   * @throws IllegalArgumentException if the option is not the address of a collector
   */
  public Optional<OtlpCollector> collector() {
    return Optional.ofNullable(otlp).map(OtlpCollector::new);
  }
}
