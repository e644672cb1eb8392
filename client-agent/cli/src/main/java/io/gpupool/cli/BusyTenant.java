// SPDX-License-Identifier: Apache-2.0
package io.gpupool.cli;

import io.gpupool.agent.PoolAddress;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.Writer;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** A program of {@code gpupool bench shares}: keeps its share of a GPU busy until it is closed. */
final class BusyTenant implements AutoCloseable {
  private static final Pattern ANSWER = Pattern.compile("load .*: (\\d+) units in .*");
  private static final long END_SECONDS = 10;

  private final Process process;
  private final BufferedReader output;
  private final Writer input;

  /**
   * What it is to be granted, and how it keeps busy.
   *
   * @param percent of the GPU's time
   * @param load a kind of load that {@code lib/bench/load} knows
   */
  record Plan(double percent, String load, boolean hard) {
    private static final Pattern FORM =
        Pattern.compile("(\\d{1,3}(?:\\.\\d{1,2})?)(?::(?!hard)([a-z]+))?(:hard)?");

    /** Reads {@code PERCENT[:LOAD][:hard]}. */
    static Plan parse(String text) {
      Matcher form = FORM.matcher(text);
      if (!form.matches()) {
        throw new IllegalArgumentException(
            "'" + text + "' is no tenant; write PERCENT[:LOAD][:hard], such as 30:flood:hard");
      }
      String load = form.group(2) == null ? "kernels" : form.group(2);
      return new Plan(Double.parseDouble(form.group(1)), load, form.group(3) != null);
    }

    @Override
    public String toString() {
      return Amounts.percent(percent) + (hard ? " hard" : "");
    }
  }

  private BusyTenant(Process process) {
    this.process = process;
    output = process.inputReader(StandardCharsets.UTF_8);
    input = process.outputWriter(StandardCharsets.UTF_8);
  }

  static BusyTenant start(Installation installation, PoolAddress pool, Plan plan)
      throws IOException {
    List<String> line = new ArrayList<>();
    line.add(installation.home().resolve("bin/gpupool").toString());
    line.addAll(List.of("run", "--pool", pool.toString(), "-m", "64Mi"));
    line.addAll(List.of("--compute", Double.toString(plan.percent())));
    if (plan.hard()) {
      line.add("--hard");
    }
    line.addAll(
        List.of(
            "--", installation.require(installation.benchmark("load")).toString(), plan.load()));
    return new BusyTenant(
        new ProcessBuilder(line).redirectError(ProcessBuilder.Redirect.INHERIT).start());
  }

  /** The process that holds its lease. */
  long pid() {
    return process.pid();
  }

  /** What it has done so far, in units of its own; waits until it has begun. */
  long units() throws IOException {
    input.write("\n");
    input.flush();
    for (String line = output.readLine(); line != null; line = output.readLine()) {
      Matcher answer = ANSWER.matcher(line);
      if (answer.matches()) {
        return Long.parseLong(answer.group(1));
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
