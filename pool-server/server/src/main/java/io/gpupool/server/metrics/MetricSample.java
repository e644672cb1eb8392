// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.metrics;

import java.util.List;

/**
 * The value of a counter for one set of labels.
 *
 * @param labels the values of the counter's labels, in their order
 */
public record MetricSample(Metric count, List<String> labels, long amount) {
  public MetricSample {
    labels = List.copyOf(labels);
  }
}
