// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server;

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
            "--enable-native-access=ALL-UNNAMED"));
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
  List<String> with(List<String> arguments) {
<<<<<<< HEAD
    List<String> line = new ArrayList<>();
    launcher.ifPresent(program -> {
      line.add(program.toString());
      line.add("--bind");
      line.add("--");
    });
    line.add(java.toString());
    line.add("-XX:+UseSerialGC");
    line.add("-Xmx256m");
    line.add("-XX:-DontCompileHugeMethods");
    line.add("-XX:-UsePerfData");
    line.add("--enable-native-access=ALL-UNNAMED");
    // Kernels of the software GPU access memory without detours; an AOT cache needs the same flag.
    line.add("--add-exports=java.base/jdk.internal.misc=ALL-UNNAMED");
    aotCache.ifPresent(cache -> line.add("-XX:AOTCache=" + cache));
    line.addAll(jvmOptions);
    line.add("-cp");
    line.add(classPath);
    line.add(MAIN);
=======
    List<String> line = new ArrayList<>(prefix);
>>>>>>> 1720977 (Add the launcher that ties a program's life to its parent's)
    line.addAll(arguments);
    return line;
  }
}
