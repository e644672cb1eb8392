// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.tally;

import java.util.List;

/**
 * Histogram of how long requests waited until they were granted.
 *
 * @param counts of those that waited as long as the bound of {@link #BOUNDS_SECONDS} at the same
 *     place at most, and longer than the one before; the last: of those beyond
 */
public record WaitHistogram(List<Long> counts, double sumSeconds) {
  public static final List<Double> BOUNDS_SECONDS =
      List.of(0.01, 0.1, 1.0, 5.0, 15.0, 60.0, 300.0, 900.0, 3600.0);

  public static final WaitHistogram NONE = new WaitHistogram(List.of(), 0);

  public WaitHistogram {
    counts = List.copyOf(counts);
  }
}
