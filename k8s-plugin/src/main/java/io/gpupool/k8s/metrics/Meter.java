// SPDX-License-Identifier: Apache-2.0
package io.gpupool.k8s.metrics;

import io.prometheus.metrics.expositionformats.PrometheusTextFormatWriter;
import io.prometheus.metrics.model.snapshots.MetricSnapshot;
import io.prometheus.metrics.model.snapshots.MetricSnapshots;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.util.List;

/** A metric that can be looked at. For any thread. */
public interface Meter {
  /** The form of {@link #page}. */
  String PAGE_TYPE = PrometheusTextFormatWriter.CONTENT_TYPE;

  /** As it is now. */
  MetricSnapshot snapshot();

  /** All of them as text. */
  static String page(List<Meter> meters) {
    MetricSnapshots.Builder snapshots = MetricSnapshots.builder();
    meters.forEach(meter -> snapshots.metricSnapshot(meter.snapshot()));
    ByteArrayOutputStream out = new ByteArrayOutputStream();
    try {
      PrometheusTextFormatWriter.create().write(out, snapshots.build());
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
    return out.toString(StandardCharsets.UTF_8);
  }
}
