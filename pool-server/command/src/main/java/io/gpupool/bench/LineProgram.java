// SPDX-License-Identifier: Apache-2.0
package io.gpupool.bench;

import io.gpupool.cli.Installation;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.Writer;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * A program that reads lines and answers each with numbers, or a server that says when it is ready.
 * It ends with this process at the latest.
 */
final class LineProgram implements AutoCloseable {
  private static final Pattern NUMBERS = Pattern.compile("[\\d. ]+");
  private static final long END_SECONDS = 15;

  private final String name;
  private final Process process;
  private final BufferedReader output;
  private final Writer input;
  private final boolean endsWithItsInput;

  private LineProgram(String name, Process process, boolean endsWithItsInput) {
    this.name = name;
    this.process = process;
    this.endsWithItsInput = endsWithItsInput;
    output = process.inputReader(StandardCharsets.UTF_8);
    input = process.outputWriter(StandardCharsets.UTF_8);
  }

  /** The way in which a program ends. */
  enum End {
    /** It reads the end of its input. */
    INPUT,
    /** It is told to by a signal. */
    SIGNAL
  }

  /**
   * Starts one.
   *
   * @param name as it is called in messages
   */
  static LineProgram start(
      Installation installation,
      String name,
      End end,
      Map<String, String> variables,
      List<String> command)
      throws IOException {
    List<String> line = new ArrayList<>();
    line.add(installation.require(installation.launcher()).toString());
    line.addAll(List.of("--supervise", "--"));
    line.addAll(command);
    ProcessBuilder builder =
        new ProcessBuilder(line)
            .redirectError(
                end == End.INPUT
                    ? ProcessBuilder.Redirect.INHERIT
                    : ProcessBuilder.Redirect.DISCARD);
    builder.environment().putAll(variables);
    return new LineProgram(name, builder.start(), end == End.INPUT);
  }

  /** Waits for a line of this form. */
  Matcher await(Pattern form) throws IOException {
    StringBuilder said = new StringBuilder();
    for (String line = output.readLine(); line != null; line = output.readLine()) {
      Matcher found = form.matcher(line);
      if (found.matches()) {
        return found;
      }
      said.append(line).append('\n');
    }
    throw new IOException(name + " ended before it was told to. " + said.toString().strip());
  }

  /** Has it do something; {@link #answer} waits for that. */
  void tell(String line) throws IOException {
    try {
      input.write(line + "\n");
      input.flush();
    } catch (IOException e) {
      throw new IOException(name + " ended before it was told to", e);
    }
  }

  double[] answer() throws IOException {
    String numbers = await(NUMBERS).group().strip();
    return Arrays.stream(numbers.split(" +")).mapToDouble(Double::parseDouble).toArray();
  }

  boolean isAlive() {
    return process.isAlive();
  }

  @Override
  public void close() throws IOException {
    if (endsWithItsInput) {
      try {
        input.close();
      } catch (IOException e) {
        // It has ended already.
      }
    } else {
      process.destroy();
    }
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
