// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.session;

import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/**
 * How worker processes are started.
 *
 * @param prefix program and arguments that come before those of the worker's main class
 */
public record WorkerCommand(List<String> prefix) {
  private static final String MAIN = "io.gpupool.worker.WorkerMain";

  public WorkerCommand {
    prefix = List.copyOf(prefix);
  }

  /** A worker on this process's own Java runtime. */
  public static WorkerCommand onThisJava(String classPath, List<String> jvmOptions) {
    List<String> line = new ArrayList<>();
    line.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
    line.addAll(
        List.of(
            "-XX:+UseSerialGC",
            "-Xmx256m",
            "-XX:-DontCompileHugeMethods",
            "-XX:-UsePerfData",
            "--enable-native-access=ALL-UNNAMED",
            // Kernels of the software GPU access memory without detours.
            "--add-exports=java.base/jdk.internal.misc=ALL-UNNAMED"));
    line.addAll(jvmOptions);
    line.addAll(List.of("-cp", classPath, MAIN));
    return new WorkerCommand(line);
  }

  /**
   * The same through {@code gpupool-exec}, which has the kernel kill a worker with the thread that
   * started it; without it, a worker ends by itself when its control socket closes.
   */
  public WorkerCommand boundBy(Path launcher) {
    List<String> line = new ArrayList<>(List.of(launcher.toString(), "--bind", "--"));
    line.addAll(prefix);
    return new WorkerCommand(line);
  }

  /** The command line with these arguments to the worker's main class. */
  public List<String> with(List<String> arguments) {
    List<String> line = new ArrayList<>(prefix);
    line.addAll(arguments);
    return line;
  }
}
