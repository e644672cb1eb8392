// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker.soft.state;

import io.gpupool.soft.CudaStatus;
import io.gpupool.soft.GpuException;
import java.io.PrintStream;
import java.util.HashSet;
import java.util.Set;
import java.util.function.Consumer;

/**
 * The reporter of why code of one session's program cannot run, which a result code alone does not
 * say. Each diagnosis goes once to the program and once to the worker's log, up to a limit that
 * keeps a program from flooding the log. Any thread may call it.
 */
public final class Diagnostics {
  private static final int MAX_LINES = 50;
  private static final String LIMIT_REACHED =
      "further diagnostics of this program are left out, after " + MAX_LINES;

  private final PrintStream log;
  private final Consumer<String> program;
  private final Set<String> written = new HashSet<>();
  private volatile String session = "";

  /**
   * For a session without a name yet.
   *
   * @param program takes lines, each with its line end, for the program's standard error
   */
  public Diagnostics(PrintStream log, Consumer<String> program) {
    this.log = log;
    this.program = program;
  }

  /** Names the session in the log's lines from now on. */
  public void nameSession(String name) {
    session = name + ": ";
  }

  /** Reports a failure unless it was reported before, or is not about the program's code. */
  void report(GpuException failure) {
    Diagnosis.of(failure).ifPresent(this::report);
  }

  private void report(Diagnosis diagnosis) {
    String line = diagnosis.line();
    // A failed assertion is on the program's standard error already, as with a card.
    boolean forProgram = diagnosis.status() != CudaStatus.ASSERT;
    int number = add(line);
    if (number > 0) {
      write(line, forProgram);
    }
    if (number == MAX_LINES) {
      write(LIMIT_REACHED, true);
    }
  }

  /** The number of a line, from 1, among all of the session; 0 if it is not to be written. */
  private synchronized int add(String line) {
    return written.size() < MAX_LINES && written.add(line) ? written.size() : 0;
  }

  private void write(String line, boolean forProgram) {
    log.println("gpupool worker: " + session + line);
    if (forProgram) {
      program.accept("gpupool: " + line + "\n");
    }
  }
}
