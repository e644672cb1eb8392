// SPDX-License-Identifier: Apache-2.0
package io.gpupool.cli.run;

import com.google.errorprone.annotations.concurrent.GuardedBy;
import io.gpupool.transport.Signals;
import java.io.IOException;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.MethodHandle;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;

/**
 * A program started through {@code gpupool-exec}, which kills it with this process. Signals sent to
 * this process go on to the program, but USR2, which the Java runtime keeps for itself.
 */
final class SupervisedProgram {
  private static final Map<String, Integer> FORWARDED =
      Map.of("TERM", 15, "INT", 2, "HUP", 1, "USR1", 10, "WINCH", 28, "ALRM", 14);
  private static final int QUIT = 3;
  private static final long IGNORE = 1;

  private final ProcessBuilder builder;

  @GuardedBy("this")
  private final List<Integer> early = new ArrayList<>();

  @GuardedBy("this")
  private int pid;

  SupervisedProgram(Path launcher, List<String> command) {
    List<String> line = new ArrayList<>(List.of(launcher.toString(), "--supervise", "--"));
    line.addAll(command);
    builder = new ProcessBuilder(line).inheritIO();
  }

  void set(String variable, String value) {
    builder.environment().put(variable, value);
  }

  /** Sets a variable that the user has not. */
  void setDefault(String variable, String value) {
    builder.environment().putIfAbsent(variable, value);
  }

  void prepend(String variable, String entry) {
    builder
        .environment()
        .merge(variable, entry, (before, first) -> before.isEmpty() ? first : first + ":" + before);
  }

  /** Runs it and waits for its exit status. */
  int run() throws IOException, InterruptedException {
    // Before the program starts: what it does first may be to have a signal sent to this process.
    FORWARDED.forEach((name, number) -> Signals.handle(name, () -> forward(number)));
    Process process = builder.start();
    started((int) process.pid());
    return process.waitFor();
  }

  private synchronized void forward(int signal) {
    if (pid == 0) {
      early.add(signal);
    } else {
      kill(pid, signal);
    }
  }

  private synchronized void started(int newPid) {
    pid = newPid;
    early.forEach(signal -> kill(pid, signal));
  }

  /** Keeps the Java runtime from dumping its threads into the program's output. */
  static void ignoreQuit() {
    try {
      MethodHandle signal =
          Linker.nativeLinker()
              .downcallHandle(
                  Linker.nativeLinker().defaultLookup().findOrThrow("signal"),
                  FunctionDescriptor.of(
                      ValueLayout.JAVA_LONG, ValueLayout.JAVA_INT, ValueLayout.JAVA_LONG));
      long before = (long) signal.invokeExact(QUIT, IGNORE);
      assert before != -1;
    } catch (Throwable e) {
      throw new IllegalStateException(e);
    }
  }

  private static void kill(int pid, int signal) {
    try {
      int result = (int) Kill.HANDLE.invokeExact(pid, signal);
      assert result <= 0;
    } catch (Throwable e) {
      throw new IllegalStateException(e);
    }
  }

  private static final class Kill {
    static final MethodHandle HANDLE =
        Linker.nativeLinker()
            .downcallHandle(
                Linker.nativeLinker().defaultLookup().findOrThrow("kill"),
                FunctionDescriptor.of(
                    ValueLayout.JAVA_INT, ValueLayout.JAVA_INT, ValueLayout.JAVA_INT));
  }
}
