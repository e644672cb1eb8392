// SPDX-License-Identifier: Apache-2.0
package io.gpupool.bench;

import io.gpupool.bench.LineProgram.End;
import io.gpupool.cli.Installation;
import io.gpupool.client.connection.PoolAddress;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * Ranks on servers of a pool that carry out the same calls, and two processes with a TCP connection
 * beside them, where the servers are this machine's.
 */
final class CollectivesMeasurement implements AutoCloseable {
  /** Of a step of training. */
  static final long GRADIENT_BYTES = 4 << 20;

  private static final Pattern PORT = Pattern.compile("(\\d+)");
  private static final Pattern READY = Pattern.compile("ready");
  private static final int PINGS = 1000;
  private static final int STEPS = 20;
  private static final int EMPTY_STEPS = 1000;
  private static final int MOST_WARM_UP_STEPS = 5000;
  private static final int LEAST_WARM_UP_CALLS = 20;

  /** A call with a wait takes several times as long as one in a row. */
  private static final int WARM_UP_CALLS_A_WAIT = 5;

  private static final int KERNEL_MICROS = 10_000;

  /** Of calls of a size with a wait each, where they are large. */
  private static final long ENOUGH_BYTES = 128 << 20;

  private final Plan plan;
  private final Path folder;
  private final List<LineProgram> ranks = new ArrayList<>();
  private @Nullable LineProgram listener;
  private @Nullable LineProgram stream;

  /**
   * What to measure, and where.
   *
   * @param servers by rank
   * @param memoryBytes of each rank's lease
   * @param withStream beside a TCP connection of this machine
   */
  record Plan(
      PoolAddress pool,
      Map<String, String> variables,
      List<String> servers,
      List<Size> sizes,
      Repetitions repetitions,
      long memoryBytes,
      boolean withStream) {}

  /**
   * How often.
   *
   * @param warmUp calls in a row before anything is measured; fewer of large sizes
   * @param calls in a row with one wait
   */
  record Repetitions(int warmUp, int calls, int rounds) {}

  /** A call of a size. */
  record Size(Collective call, long bytes) {}

  /**
   * Microseconds that were measured.
   *
   * @param queued of each call of many in a row
   * @param awaited of a call with a wait
   * @param oneWay of a TCP transfer; NaN: there is none
   * @param bothWays of one to either end at the same time
   */
  record Times(double queued, double awaited, double oneWay, double bothWays, long wrong) {}

  /**
   * Microseconds of a step of training.
   *
   * @param empty of a kernel that does nothing
   * @param alone of the kernel on one server
   * @param apart of it on all at once
   * @param together of it on all, and the all-reduce of the gradients
   */
  record Step(double empty, double alone, double apart, double together) {}

  /** All that was measured; NaN: there was no TCP connection. */
  record Result(Map<Size, Times> times, double roundTrip, Step step) {}

  private CollectivesMeasurement(Plan plan, Path folder) {
    this.plan = plan;
    this.folder = folder;
  }

  /** Starts the ranks. */
  static CollectivesMeasurement start(Installation installation, Plan plan) throws IOException {
    CollectivesMeasurement measurement =
        new CollectivesMeasurement(plan, Files.createTempDirectory("gpupool-bench-"));
    try {
      measurement.startAll(installation);
      return measurement;
    } catch (IOException | RuntimeException e) {
      measurement.close();
      throw e;
    }
  }

  private void startAll(Installation installation) throws IOException {
    for (int rank = 0; rank < plan.servers().size(); rank++) {
      ranks.add(startRank(installation, rank));
    }
    if (plan.withStream()) {
      String program = installation.require(installation.benchmark("stream")).toString();
      LineProgram listening =
          LineProgram.start(
              installation, "the stream", End.SIGNAL, Map.of(), List.of(program, "serve"));
      listener = listening;
      String port = listening.await(PORT).group();
      stream =
          LineProgram.start(
              installation, "the stream", End.INPUT, Map.of(), List.of(program, port));
    }
    for (LineProgram rank : ranks) {
      rank.await(READY);
    }
  }

  private LineProgram startRank(Installation installation, int rank) throws IOException {
    List<String> line = new ArrayList<>();
    line.add(installation.require(installation.command()).toString());
    line.addAll(List.of("run", "--pool", plan.pool().toString()));
    line.addAll(List.of("--select", "server=" + plan.servers().get(rank), "--spread"));
    line.addAll(List.of("-n", "1", "-m", Long.toString(plan.memoryBytes()), "--"));
    line.add(installation.require(installation.benchmark("collectives")).toString());
    line.addAll(List.of("--ranks", Integer.toString(plan.servers().size())));
    line.addAll(List.of("--rank", Integer.toString(rank)));
    line.addAll(List.of("--id-file", folder.resolve("id").toString()));
    line.addAll(
        List.of("--kernels", installation.require(installation.benchmark("load.ptx")).toString()));
    return LineProgram.start(installation, "rank " + rank, End.INPUT, plan.variables(), line);
  }

  /** Measures everything in turns, and takes medians. */
  Result measure() throws IOException {
    warmUp();
    long turns = (long) ask(ranks.subList(0, 1), "calibrate " + KERNEL_MICROS)[0];
    List<Result> rounds = new ArrayList<>();
    for (int i = 0; i < plan.repetitions().rounds(); i++) {
      rounds.add(round(turns));
    }
    return CollectivesReport.medians(rounds);
  }

  /** Has the workers run what is measured until they have compiled it. */
  private void warmUp() throws IOException {
    for (Size size : plan.sizes()) {
      long enough = Math.max(LEAST_WARM_UP_CALLS, ENOUGH_BYTES / size.bytes());
      long queued = Math.min(enough, plan.repetitions().warmUp());
      long awaited = Math.max(1, queued / WARM_UP_CALLS_A_WAIT);
      ask(ranks, calls(size, awaited, queued));
    }
    ask(ranks, step(0, 0, Math.min(plan.repetitions().warmUp(), MOST_WARM_UP_STEPS)));
    ask(ranks, step(1, GRADIENT_BYTES, STEPS));
  }

  private Result round(long turns) throws IOException {
    Map<Size, Times> times = new TreeMap<>(CollectivesReport.ORDER);
    double roundTrip = streamed("ping " + PINGS);
    for (Size size : plan.sizes()) {
      times.put(size, times(size));
    }
    Step step =
        new Step(
            ask(ranks, step(0, 0, EMPTY_STEPS))[0],
            ask(ranks.subList(0, 1), step(turns, 0, STEPS))[0],
            ask(ranks, step(turns, 0, STEPS))[0],
            ask(ranks, step(turns, GRADIENT_BYTES, STEPS))[0]);
    return new Result(times, roundTrip, step);
  }

  private Times times(Size size) throws IOException {
    String repeated = size.bytes() + " " + plan.repetitions().calls();
    double oneWay = streamed("one " + repeated);
    double bothWays = streamed("both " + repeated);
    long awaited = Math.clamp(ENOUGH_BYTES / size.bytes() / plan.repetitions().rounds(), 3, 200);
    double[] told = ask(ranks, calls(size, awaited, plan.repetitions().calls()));
    return new Times(told[1], told[0], oneWay, bothWays, (long) told[2]);
  }

  private static String calls(Size size, long awaited, long queued) {
    return size.call() + " " + size.bytes() + " " + awaited + " " + queued;
  }

  private static String step(long turns, long bytes, int count) {
    return "step " + turns + " " + bytes + " " + count;
  }

  private double streamed(String line) throws IOException {
    return stream == null ? Double.NaN : ask(List.of(stream), line)[0];
  }

  /** Has programs do the same; returns of each of their figures the largest. */
  private static double[] ask(List<LineProgram> programs, String line) throws IOException {
    for (LineProgram program : programs) {
      program.tell(line);
    }
    double[] largest = programs.getFirst().answer();
    for (LineProgram program : programs.subList(1, programs.size())) {
      double[] figures = program.answer();
      Arrays.setAll(largest, i -> Math.max(largest[i], figures[i]));
    }
    return largest;
  }

  @Override
  public void close() throws IOException {
    for (LineProgram rank : ranks) {
      rank.close();
    }
    if (stream != null) {
      stream.close();
    }
    if (listener != null) {
      listener.close();
    }
    Files.deleteIfExists(folder.resolve("id"));
    Files.delete(folder);
  }
}
