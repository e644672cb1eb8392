// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.tally;

import java.util.List;

/**
 * How much of something there was.
 *
 * @param labels values of the count's labels, in their order
 */
public record Row(Count count, List<String> labels, long amount) {
  public Row {
    labels = List.copyOf(labels);
  }
}
