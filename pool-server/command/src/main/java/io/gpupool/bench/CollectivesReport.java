// SPDX-License-Identifier: Apache-2.0
package io.gpupool.bench;

import com.google.gson.JsonArray;
import com.google.gson.JsonObject;
import io.gpupool.bench.CollectivesMeasurement.Plan;
import io.gpupool.bench.CollectivesMeasurement.Result;
import io.gpupool.bench.CollectivesMeasurement.Size;
import io.gpupool.bench.CollectivesMeasurement.Step;
import io.gpupool.bench.CollectivesMeasurement.Times;
import io.gpupool.cli.Installation;
import java.util.Comparator;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.TreeMap;
import java.util.function.ToDoubleFunction;

/** The figures of {@code gpupool bench collectives}, in the form of nccl-tests and as JSON. */
record CollectivesReport(Plan plan, Result result) {
  /** By calls, and by their sizes. */
  static final Comparator<Size> ORDER =
      Comparator.comparing(Size::call).thenComparingLong(Size::bytes);

  private static final String HEAD =
      "#       size         count      type   redop    root       time   algbw   busbw  #wrong   "
          + " latency    tcp\n"
          + "#        (B)    (elements)                                 (us)  (GB/s)  (GB/s)       "
          + "        (us) (GB/s)\n";

  /** Takes the median of each figure. */
  static Result medians(List<Result> rounds) {
    Map<Size, Times> times = new TreeMap<>(ORDER);
    for (Size size : rounds.getFirst().times().keySet()) {
      List<Times> all = rounds.stream().map(round -> round.times().get(size)).toList();
      times.put(
          size,
          new Times(
              median(all, Times::queued),
              median(all, Times::awaited),
              median(all, Times::oneWay),
              median(all, Times::bothWays),
              all.stream().mapToLong(Times::wrong).sum()));
    }
    List<Step> steps = rounds.stream().map(Result::step).toList();
    return new Result(
        times,
        median(rounds, Result::roundTrip),
        new Step(
            median(steps, Step::empty),
            median(steps, Step::alone),
            median(steps, Step::apart),
            median(steps, Step::together)));
  }

  private static <T> double median(List<T> all, ToDoubleFunction<T> figure) {
    double[] sorted = all.stream().mapToDouble(figure).sorted().toArray();
    return sorted[sorted.length / 2];
  }

  private int ranks() {
    return plan.servers().size();
  }

  long wrong() {
    return result.times().values().stream().mapToLong(Times::wrong).sum();
  }

  private double algorithmBandwidth(Size size) {
    return size.bytes() / time(size).queued() / 1e3;
  }

  private double busBandwidth(Size size) {
    return algorithmBandwidth(size) * size.call().busFactor(ranks());
  }

  /** Of the TCP connection, in the directions in which the call sends. */
  private double streamBandwidth(Size size) {
    Times times = time(size);
    return size.bytes() / (size.call().goesBothWays() ? times.bothWays() : times.oneWay()) / 1e3;
  }

  private Times time(Size size) {
    return result.times().getOrDefault(size, new Times(0, 0, 0, 0, 0));
  }

  /** The table. */
  String text() {
    StringBuilder text = new StringBuilder();
    text.append("# gpupool ").append(Installation.version()).append('\n');
    for (int rank = 0; rank < ranks(); rank++) {
      text.append("# rank ").append(rank).append(" on ").append(plan.servers().get(rank));
      text.append('\n');
    }
    text.append(
        line(
            "# rounds: %d, of which figures are medians; calls in a row: %d",
            plan.repetitions().rounds(), plan.repetitions().calls()));
    Collective call = null;
    for (Size size : result.times().keySet()) {
      if (size.call() != call) {
        call = size.call();
        text.append("#\n# ").append(call).append('\n').append(HEAD);
      }
      text.append(row(size));
    }
    text.append(line("# Out of bounds values : %d %s", wrong(), wrong() == 0 ? "OK" : "FAILED"));
    text.append(
        line(
            "# Avg bus bandwidth    : %.4g",
            result.times().keySet().stream().mapToDouble(this::busBandwidth).average().orElse(0)));
    if (!Double.isNaN(result.roundTrip())) {
      text.append(line("# TCP, 8 bytes to and fro: %.4g us", result.roundTrip()));
    }
    return text.append(stepText()).toString();
  }

  private String row(Size size) {
    Times times = time(size);
    double stream = streamBandwidth(size);
    return line(
        "%12d %13d %9s %7s %7d %10.2f %7.2f %7.2f %7d %10.2f %6s",
        size.bytes(),
        size.call().count(size.bytes(), ranks()),
        "float",
        size.call().operation(),
        size.call().root(),
        times.queued(),
        algorithmBandwidth(size),
        busBandwidth(size),
        times.wrong(),
        times.awaited(),
        Double.isNaN(stream) ? "-" : String.format(Locale.ROOT, "%.2f", stream));
  }

  private String stepText() {
    Step step = result.step();
    return line("# Training step          :       (us)   ratio")
        + line("#   kernel, rank 0 alone : %10.2f %7.2f", step.alone(), 1.0)
        + line("#   kernel, all ranks    : %10.2f %7.2f", step.apart(), step.apart() / step.alone())
        + line(
            "#   and 4 MiB all_reduce : %10.2f %7.2f",
            step.together(), step.together() / step.alone())
        + line("#   an empty kernel      : %10.2f", step.empty());
  }

  private static String line(String format, Object... values) {
    return String.format(Locale.ROOT, format, values) + "\n";
  }

  /** The same, and more, as JSON. */
  JsonObject json() {
    JsonObject json = new JsonObject();
    JsonArray servers = new JsonArray();
    plan.servers().forEach(servers::add);
    json.add("servers", servers);
    json.addProperty("rounds", plan.repetitions().rounds());
    json.addProperty("calls", plan.repetitions().calls());
    JsonArray results = new JsonArray();
    result.times().keySet().forEach(size -> results.add(json(size)));
    json.add("results", results);
    put(json, "tcpRoundTripMicros", result.roundTrip());
    JsonObject step = new JsonObject();
    put(step, "aloneMicros", result.step().alone());
    put(step, "apartMicros", result.step().apart());
    put(step, "togetherMicros", result.step().together());
    put(step, "emptyMicros", result.step().empty());
    json.add("step", step);
    return json;
  }

  private JsonObject json(Size size) {
    Times times = time(size);
    JsonObject json = new JsonObject();
    json.addProperty("call", size.call().toString());
    json.addProperty("sizeBytes", size.bytes());
    json.addProperty("count", size.call().count(size.bytes(), ranks()));
    json.addProperty("type", "float");
    put(json, "timeMicros", times.queued());
    put(json, "latencyMicros", times.awaited());
    put(json, "algorithmGigabytesPerSecond", algorithmBandwidth(size));
    put(json, "busGigabytesPerSecond", busBandwidth(size));
    put(json, "tcpOneWayGigabytesPerSecond", size.bytes() / times.oneWay() / 1e3);
    put(json, "tcpBothWaysGigabytesPerSecond", size.bytes() / times.bothWays() / 1e3);
    json.addProperty("wrong", times.wrong());
    return json;
  }

  /** Adds a figure; null: it was not measured. */
  private static void put(JsonObject json, String name, double value) {
    json.addProperty(name, Double.isNaN(value) ? null : Math.round(value * 1e4) / 1e4);
  }
}
