// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.tally;

import java.util.List;

/**
 * Value of a counter for one set of labels.
 *
 * @param labels values of the count's labels, in their order
 */
public record MetricSample(Metric count, List<String> labels, long amount) {
  public MetricSample {
    labels = List.copyOf(labels);
  }
}
