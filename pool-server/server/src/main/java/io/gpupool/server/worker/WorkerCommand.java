// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.worker;

import io.gpupool.server.sandbox.SandboxOptions;
import io.gpupool.server.sandbox.WorkerEnvironment;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;

/**
 * The command that starts worker processes.
 *
 * @param prefix program and arguments before those of the worker's main class
 * @param sandbox the sandbox of workers that serve programs
 */
public record WorkerCommand(List<String> prefix, SandboxOptions sandbox) {
  private static final String MAIN = "io.gpupool.worker.WorkerMain";

  public WorkerCommand {
    prefix = List.copyOf(prefix);
  }

  /** Workers without a sandbox. */
  public WorkerCommand(List<String> prefix) {
    this(prefix, SandboxOptions.NONE);
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
            // What a worker leaves behind when it crashes would hold memory of a tenant.
            "-XX:ErrorFile=/dev/null",
            "-XX:-CreateCoredumpOnCrash",
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
    return new WorkerCommand(line, sandbox);
  }

  /** Returns the same command with the sandbox of workers that serve programs. */
  public WorkerCommand within(SandboxOptions sandbox) {
    return new WorkerCommand(prefix, sandbox);
  }

  /**
   * A worker process that is ready to be started with these arguments, in an environment of its
   * own.
   */
  public ProcessBuilder process(List<String> arguments) {
    ProcessBuilder builder = new ProcessBuilder(with(arguments));
    Map<String, String> environment = builder.environment();
    Map<String, String> own = WorkerEnvironment.of(environment, sandbox.variables());
    environment.clear();
    environment.putAll(own);
    return builder;
  }

  /** The command line with these arguments to the worker's main class. */
  private List<String> with(List<String> arguments) {
    List<String> line = new ArrayList<>(prefix);
    line.addAll(arguments);
    return line;
  }
}
