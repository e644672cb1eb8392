// SPDX-License-Identifier: Apache-2.0
package io.gpupool.bench;

import io.gpupool.bench.BusyTenant.Plan;
import io.gpupool.bench.SharesMeasurement.Figures;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.stream.Collectors;

/** The cases by which shares of a GPU are judged: tenants, and the time that each is to get. */
final class SharesSuite {
  private SharesSuite() {}

  /** In what a part is measured. */
  enum Measure {
    /** Of what all tenants used, by the books. */
    USED,
    /** Of what all tenants used, as they count their kernels. */
    COUNTED,
    /** Of the time. */
    TIME
  }

  /**
   * One case.
   *
   * @param expected percent, of each tenant
   * @param within points
   */
  record Case(
      String name, List<Plan> plans, Measure measure, List<Double> expected, double within) {
    private static Case of(
        String name, String tenants, Measure measure, double within, double... expected) {
      return new Case(
          name,
          List.of(tenants.split(" ")).stream().map(Plan::parse).toList(),
          measure,
          Arrays.stream(expected).boxed().toList(),
          within);
    }

    String tenants() {
      return plans.stream()
          .map(plan -> plan + " " + plan.described())
          .collect(Collectors.joining(", "));
    }
  }

  static List<Case> cases() {
    return List.of(
        Case.of("kernels", "70:eager=50us 30:eager=50us", Measure.COUNTED, 2, 70, 30),
        Case.of(
            "four leases",
            "10:eager=50us 20:eager=50us 30:eager=50us 40:eager=50us",
            Measure.COUNTED,
            2,
            10,
            20,
            30,
            40),
        Case.of("graphs", "70:graph=50us 30:graph=50us", Measure.COUNTED, 2, 70, 30),
        Case.of("short and long", "30:eager=10us 70:eager=50ms", Measure.COUNTED, 2, 30, 70),
        Case.of("very long", "70:each=200ms 30:eager=50us", Measure.USED, 2, 70, 30),
        Case.of("rarely busy", "70:rarely=1ms 30:eager=50us", Measure.COUNTED, 2, 5, 95),
        Case.of("three processes", "50:eager=50us*3 50:eager=50us", Measure.COUNTED, 2, 50, 50),
        Case.of("copies", "70:devicecopies 30:eager=50us", Measure.USED, 2, 70, 30),
        Case.of("deep queue", "30:queue=50us 70:eager=50us", Measure.USED, 2, 30, 70),
        Case.of("hard, alone", "30:eager=50us:hard", Measure.TIME, 1, 30),
        Case.of("lendable, alone", "30:eager=50us", Measure.TIME, 1, 100),
        Case.of("requests", "20:serve=1ms:latency 80:eager=5ms", Measure.TIME, 15, 5, 95));
  }

  /** What came of a case, over all of its runs. */
  static final class Result {
    private final Case judged;
    private final List<List<Figures>> runs = new ArrayList<>();

    Result(Case judged) {
      this.judged = judged;
    }

    void add(List<Figures> figures) {
      runs.add(figures);
    }

    /** The most that any tenant was off in any run, in points. */
    double mostOff() {
      double most = 0;
      for (List<Figures> run : runs) {
        for (int i = 0; i < run.size(); i++) {
          most = Math.max(most, Math.abs(part(run, i) - judged.expected.get(i)));
        }
      }
      return most;
    }

    boolean holds() {
      return mostOff() <= judged.within;
    }

    /** The cells of its row: case, tenants, expected, got, most off, what else there is to say. */
    Object[] row() {
      List<String> got = new ArrayList<>();
      for (int i = 0; i < judged.expected.size(); i++) {
        int tenant = i;
        got.add(
            range(runs.stream().mapToDouble(run -> part(run, tenant)).min().orElse(0))
                + " to "
                + range(runs.stream().mapToDouble(run -> part(run, tenant)).max().orElse(0)));
      }
      double wait = runs.stream().mapToLong(run -> run.getFirst().waitP99Micros()).max().orElse(0);
      return new Object[] {
        judged.name,
        judged.tenants(),
        judged.expected.stream().map(SharesSuite::whole).collect(Collectors.joining(", ")),
        String.join(", ", got),
        range(mostOff()) + (holds() ? "" : " (over " + whole(judged.within) + ")"),
        wait == 0 ? "-" : String.format(Locale.ROOT, "%.1f ms", wait / 1000)
      };
    }

    private double part(List<Figures> run, int tenant) {
      Figures figures = run.get(tenant);
      return switch (judged.measure) {
        case USED -> figures.ofUsed();
        case TIME -> figures.ofTime();
        case COUNTED -> 100 * figures.counted() / run.stream().mapToDouble(Figures::counted).sum();
      };
    }
  }

  private static String whole(double value) {
    return String.format(Locale.ROOT, "%.0f", value);
  }

  private static String range(double value) {
    return String.format(Locale.ROOT, "%.1f", value);
  }
}
