// SPDX-License-Identifier: Apache-2.0
package io.gpupool.bench;

import io.gpupool.cli.Amounts;
import io.gpupool.cli.Installation;
import io.gpupool.client.connection.PoolAddress;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.Writer;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.TimeUnit;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * A program of {@code gpupool bench shares} that keeps its share of a GPU busy until it is closed.
 */
final class BusyTenant implements AutoCloseable {
  private static final Pattern ANSWER =
      Pattern.compile("load .*: (\\d+) units in .* s(?:, wait p99 (\\d+) us)?");
  private static final long END_SECONDS = 10;

  /** What each of its processes needs beside a context. */
  private static final long MEMORY_BYTES = 64 << 20;

  private final Process process;
  private final BufferedReader output;
  private final Writer input;

  /**
   * What it is to be granted, and how it keeps busy.
   *
   * @param percent of the GPU's time
   * @param load a kind of load that {@code lib/bench/load} knows
   * @param kernelNanos how long each of its kernels takes; 0 for loads that are not timed
   * @param processes that share its lease and do the same
   * @param latency whether its lease is of the class that serves requests
   */
  record Plan(
      double percent, String load, long kernelNanos, int processes, boolean hard, boolean latency) {
    private static final Pattern FORM =
        Pattern.compile(
            "(?<percent>\\d{1,3}(?:\\.\\d{1,2})?)"
                + "(?::(?!hard|latency)(?<load>[a-z]+)(?:=(?<count>\\d{1,9})(?<unit>ns|us|ms))?)?"
                + "(?:\\*(?<processes>1[0-6]|[1-9]))?(?<hard>:hard)?(?<latency>:latency)?");
    private static final Map<String, Integer> UNITS = Map.of("ns", 1, "us", 1000, "ms", 1_000_000);

    /** Reads {@code PERCENT[:LOAD[=TIME]][*PROCESSES][:hard][:latency]}. */
    static Plan parse(String text) {
      Matcher form = FORM.matcher(text);
      if (!form.matches()) {
        throw new IllegalArgumentException(
            "'"
                + text
                + "' is no tenant; write PERCENT[:LOAD[=TIME]][*PROCESSES][:hard][:latency], such as"
                + " 30:flood:hard or 70:eager=50us*3");
      }
      String load = form.group("load") == null ? "kernels" : form.group("load");
      long nanos =
          form.group("count") == null
              ? 0
              : Long.parseLong(form.group("count"))
                  * Objects.requireNonNull(UNITS.get(form.group("unit")));
      int processes =
          form.group("processes") == null ? 1 : Integer.parseInt(form.group("processes"));
      return new Plan(
          Double.parseDouble(form.group("percent")),
          load,
          nanos,
          processes,
          form.group("hard") != null,
          form.group("latency") != null);
    }

    /** Its load, as it is written. */
    String described() {
      String time =
          kernelNanos == 0
              ? ""
              : kernelNanos % 1_000_000 == 0
                  ? "=" + kernelNanos / 1_000_000 + "ms"
                  : kernelNanos % 1000 == 0
                      ? "=" + kernelNanos / 1000 + "us"
                      : "=" + kernelNanos + "ns";
      return load + time + (processes == 1 ? "" : "*" + processes);
    }

    @Override
    public String toString() {
      return Amounts.percent(percent) + (hard ? " hard" : "") + (latency ? " latency" : "");
    }
  }

  private BusyTenant(Process process) {
    this.process = process;
    output = process.inputReader(StandardCharsets.UTF_8);
    input = process.outputWriter(StandardCharsets.UTF_8);
  }

  /**
   * Starts it.
   *
   * @param contextBytes memory of the GPU that each of its processes takes by itself
   */
  static BusyTenant start(Installation installation, PoolAddress pool, Plan plan, long contextBytes)
      throws IOException {
    List<String> line = new ArrayList<>();
    line.add(installation.home().resolve("bin/gpupool").toString());
    long memoryBytes = plan.processes() * (contextBytes + MEMORY_BYTES);
    line.addAll(List.of("run", "--pool", pool.toString(), "-m", Long.toString(memoryBytes)));
    line.addAll(List.of("--compute", Double.toString(plan.percent())));
    if (plan.hard()) {
      line.add("--hard");
    }
    if (plan.latency()) {
      line.add("--latency");
    }
    line.addAll(
        List.of(
            "--",
            installation.require(installation.benchmark("load")).toString(),
            plan.load(),
            Long.toString(plan.kernelNanos()),
            Integer.toString(plan.processes())));
    return new BusyTenant(
        new ProcessBuilder(line).redirectError(ProcessBuilder.Redirect.INHERIT).start());
  }

  /** The process that holds its lease. */
  long pid() {
    return process.pid();
  }

  /**
   * What a tenant says of itself.
   *
   * @param units that it has done so far, of its own
   * @param waitP99Micros what 99 of 100 requests waited at most since it was asked before; 0 of
   *     loads that serve none
   */
  record Answer(long units, long waitP99Micros) {}

  /** Asks it; waits until it has begun. */
  Answer ask() throws IOException {
    input.write("\n");
    input.flush();
    for (String line = output.readLine(); line != null; line = output.readLine()) {
      Matcher answer = ANSWER.matcher(line);
      if (answer.matches()) {
        return new Answer(
            Long.parseLong(answer.group(1)),
            answer.group(2) == null ? 0 : Long.parseLong(answer.group(2)));
      }
      System.err.println(line);
    }
    throw new IOException("a tenant ended before it was told to; its messages are above");
  }

  @Override
  public void close() throws IOException {
    input.close();
    try {
      if (!process.waitFor(END_SECONDS, TimeUnit.SECONDS)) {
        process.destroyForcibly();
      }
    } catch (InterruptedException e) {
      process.destroyForcibly();
      Thread.currentThread().interrupt();
    }
  }
}
