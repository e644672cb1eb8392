// SPDX-License-Identifier: Apache-2.0
package io.gpupool.e2e;

import static java.nio.charset.StandardCharsets.UTF_8;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.io.Writer;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.TimeUnit;
import java.util.function.Predicate;

/**
 * A started process with all its descendants in a process group of their own, which {@link #close}
 * ends. What it prints is gathered by two threads; any thread may ask for it.
 */
final class Program implements AutoCloseable {
  static final Duration PATIENCE = Duration.ofSeconds(60);

  /**
   * Makes a process group, and replaces itself by the command. A shell that runs this in the
   * background has it ignore interrupts, and {@code nohup} hangups, which programs would inherit.
   */
  private static final List<String> STARTER =
      Processes.ignoresEndingSignals()
          ? List.of("setsid", "env", "--default-signal=INT,HUP")
          : List.of("setsid");

  /** More than an agent takes to give everything back. */
  private static final Duration END = Duration.ofSeconds(10);

  private final List<String> command;
  private final Process process;
  private final Output output;
  private final Output errors;
  private final Writer input;

  private Program(List<String> command, Process process) {
    this.command = command;
    this.process = process;
    this.output = new Output(process.getInputStream());
    this.errors = new Output(process.getErrorStream());
    this.input = process.outputWriter(UTF_8);
  }

  /** What is about to be started. */
  static final class Builder {
    private final List<String> command;
    private final Map<String, String> environment = new TreeMap<>();
    private Path directory = Distribution.WORK;

    private Builder(List<String> command) {
      this.command = List.copyOf(command);
    }

    Builder with(String variable, Object value) {
      environment.put(variable, value.toString());
      return this;
    }

    Builder in(Path newDirectory) {
      directory = newDirectory;
      return this;
    }

    Program start() {
      List<String> line = new ArrayList<>(STARTER);
      line.addAll(command);
      ProcessBuilder builder = new ProcessBuilder(line).directory(directory.toFile());
      Map<String, String> variables = builder.environment();
      variables.keySet().removeIf(name -> name.startsWith("GPUPOOL_"));
      variables.putAll(environment);
      try {
        return new Program(command, builder.start());
      } catch (IOException e) {
        throw new UncheckedIOException(e);
      }
    }

    /** Starts it and waits for its end. */
    Ended run() {
      return run(PATIENCE);
    }

    Ended run(Duration patience) {
      try (Program program = start()) {
        program.endInput();
        return program.awaitEnd(patience);
      }
    }
  }

  /** What an ended process leaves. */
  record Ended(int status, String output, String errors) {}

  static Builder of(Object... command) {
    return new Builder(List.of(command).stream().map(Object::toString).toList());
  }

  static Builder of(List<String> command) {
    return new Builder(command);
  }

  long pid() {
    return process.pid();
  }

  boolean isAlive() {
    return process.isAlive();
  }

  void send(String line) {
    try {
      input.write(line + "\n");
      input.flush();
    } catch (IOException e) {
      throw new AssertionError("cannot write \"" + line + "\" to it\n" + report(), e);
    }
  }

  void endInput() {
    try {
      input.close();
    } catch (IOException e) {
      // It has ended already.
    }
  }

  /** The next line of its standard output that is as wanted; lines before it are passed over. */
  String awaitLine(Predicate<String> wanted) {
    return awaitLine(wanted, PATIENCE);
  }

  String awaitLine(Predicate<String> wanted, Duration patience) {
    return awaitLine(output, wanted, patience);
  }

  /** The next line of its standard error that is as wanted; lines before it are passed over. */
  String awaitErrorLine(Predicate<String> wanted) {
    return awaitLine(errors, wanted, PATIENCE);
  }

  private String awaitLine(Output from, Predicate<String> wanted, Duration patience) {
    return from.awaitLine(wanted, patience)
        .orElseThrow(() -> new AssertionError("it did not print what was awaited\n" + report()));
  }

  Ended awaitEnd() {
    return awaitEnd(PATIENCE);
  }

  Ended awaitEnd(Duration patience) {
    try {
      if (!process.waitFor(patience.toMillis(), TimeUnit.MILLISECONDS)) {
        throw new AssertionError("it did not end within " + patience + "\n" + report());
      }
    } catch (InterruptedException e) {
      throw new AssertionError(e);
    }
    // What the process has written is there soon; a descendant may keep the pipe open for longer.
    output.awaitQuiet();
    errors.awaitQuiet();
    return new Ended(process.exitValue(), output.text(), errors.text());
  }

  void signal(String name) {
    Signals.send(name, Long.toString(pid()));
  }

  void kill() {
    signal("KILL");
  }

  String output() {
    return output.text();
  }

  String errors() {
    return errors.text();
  }

  String report() {
    return "%s\n[%s]\n--- stdout\n%s--- stderr\n%s---"
        .formatted(
            String.join(" ", command),
            process.isAlive() ? "running" : "status " + process.exitValue(),
            output.text(),
            errors.text());
  }

  /** Returns the same of a JVM, with what its threads do now. */
  String reportThreads() {
    signal("QUIT");
    output.awaitQuiet();
    return report();
  }

  /** Ends it in order, so that the pool keeps nothing for it, and kills what is left. */
  @Override
  public void close() {
    if (process.isAlive()) {
      Signals.send("TERM", "-" + pid());
      awaitExit();
    }
    Signals.send("KILL", "-" + pid());
    process.destroyForcibly();
    // Its connections are there until it is gone.
    awaitExit();
  }

  private void awaitExit() {
    process.onExit().completeOnTimeout(process, END.toSeconds(), TimeUnit.SECONDS).join();
  }
}
