// SPDX-License-Identifier: Apache-2.0
package io.gpupool.e2e;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** A count of faults and of the times after which programs had their connections again. */
final class CutTally {
  private static final Pattern AGAIN = Pattern.compile("connected to .* again after ([0-9.]+) s");

  private final Map<String, Row> rows = new TreeMap<>();

  private static final class Row {
    private int runs;
    private int cuts;
    private final List<Double> seconds = new ArrayList<>();

    double median() {
      return seconds.stream().sorted().skip(seconds.size() / 2).findFirst().orElse(0.0);
    }

    double longest() {
      return seconds.stream().mapToDouble(Double::doubleValue).max().orElse(0);
    }
  }

  /**
   * Adds a run.
   *
   * @param what the program, or the fault
   * @param errors what the program said of its connections
   */
  synchronized void add(String what, int cuts, String errors) {
    Row row = rows.computeIfAbsent(what, name -> new Row());
    row.runs++;
    row.cuts += cuts;
    Matcher said = AGAIN.matcher(errors);
    while (said.find()) {
      row.seconds.add(Double.valueOf(said.group(1)));
    }
  }

  /** Returns how many faults there have been. */
  synchronized int cuts() {
    return rows.values().stream().mapToInt(row -> row.cuts).sum();
  }

  @Override
  public synchronized String toString() {
    StringBuilder table =
        new StringBuilder(line("", "runs", "faults", "resumed", "median s", "longest s"));
    rows.forEach((what, row) ->
        table.append(
            line(
                what,
                row.runs,
                row.cuts,
                row.seconds.size(),
                "%.1f".formatted(row.median()),
                "%.1f".formatted(row.longest()))));
    return table.toString();
  }

  private static String line(Object... columns) {
    return "%-32s %6s %6s %8s %9s %10s%n".formatted(columns);
  }
}
