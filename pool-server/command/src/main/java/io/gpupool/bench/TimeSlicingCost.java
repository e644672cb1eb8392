// SPDX-License-Identifier: Apache-2.0
package io.gpupool.bench;

import io.gpupool.bench.BusyTenant.Plan;
import io.gpupool.bench.SharesMeasurement.Figures;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;

/**
 * Cost of time slicing to a tenant that is alone on a driver's GPU: pairs of runs, one with time
 * slices and one in which the driver shares out its time.
 */
final class TimeSlicingCost {
  private final List<Double> ratios = new ArrayList<>();
  private final Plan plan;

  TimeSlicingCost(Plan plan) {
    this.plan = plan;
  }

  /** Measures one tenant in a pool of its own. */
  interface Run {
    Figures measure(Plan plan, boolean timeSliced) throws Exception;
  }

  /** Measures a pair; which comes first alternates. */
  void measurePair(int number, Run run) throws Exception {
    boolean turnsFirst = number % 2 == 0;
    double first = perSecond(run, turnsFirst);
    double second = perSecond(run, !turnsFirst);
    ratios.add(turnsFirst ? first / second : second / first);
  }

  private double perSecond(Run run, boolean timeSliced) throws Exception {
    Figures figures = run.measure(plan, timeSliced);
    return figures.units() / figures.seconds();
  }

  /**
   * Returns the cells of its row: load, pairs, the median of the throughput with by that without.
   */
  Object[] row() {
    List<Double> sorted = ratios.stream().sorted().toList();
    int middle = sorted.size() / 2;
    double median =
        sorted.size() % 2 == 1
            ? sorted.get(middle)
            : (sorted.get(middle - 1) + sorted.get(middle)) / 2;
    return new Object[] {
      plan.described(),
      sorted.size(),
      rounded(median),
      rounded(sorted.getFirst()) + " to " + rounded(sorted.getLast())
    };
  }

  private static String rounded(double value) {
    return String.format(Locale.ROOT, "%.3f", value);
  }
}
