// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server;

import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/**
 * How worker processes are started.
 *
 * @param java the java program
 * @param classPath the worker's class path
 * @param launcher {@code gpupool-exec}, which ties a worker's life to the server's; without it a
 *     worker ends by itself when its control socket closes
 * @param aotCache a cache made for exactly this class path
 * @param jvmOptions further options, such as another heap limit
 */
public record WorkerCommand(
    Path java,
    String classPath,
    Optional<Path> launcher,
    Optional<Path> aotCache,
    List<String> jvmOptions) {
  private static final String MAIN = "io.gpupool.worker.WorkerMain";

  public WorkerCommand {
    jvmOptions = List.copyOf(jvmOptions);
  }

  /** The command line with these arguments to the worker's main class. */
  List<String> with(List<String> arguments) {
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
    line.addAll(arguments);
    return line;
  }
}
