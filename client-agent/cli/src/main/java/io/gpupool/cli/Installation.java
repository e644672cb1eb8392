// SPDX-License-Identifier: Apache-2.0
package io.gpupool.cli;

import io.gpupool.server.sandbox.SandboxMode;
import io.gpupool.server.sandbox.SandboxOptions;
import io.gpupool.server.sandbox.UserRange;
import io.gpupool.server.session.WorkerCommand;
import io.gpupool.wire.BuildVersion;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;

/**
 * Where the parts of gpupool are on this machine: in the folder that the launcher names with {@code
 * -Dgpupool.home}, laid out as the distribution is.
 *
 * @param home the distribution's folder
 */
record Installation(Path home) {
  static Installation find() {
    String home = System.getProperty("gpupool.home");
    if (home == null) {
      throw new IllegalStateException(
          "where gpupool is installed is not known: start it with bin/gpupool of the distribution");
    }
    return new Installation(Path.of(home));
  }

  /** The folder with {@code libcuda.so.1}. */
  Path shim() {
    return home.resolve("lib/shim");
  }

  /** What programs on software GPUs have preloaded, so that NVRTC gives them PTX. */
  Path nvrtc() {
    return home.resolve("lib/libgpupool-nvrtc.so");
  }

  /** The program that ties another's life to this process's. */
  Path launcher() {
    return home.resolve("lib/gpupool-exec");
  }

  /** A program that measures. */
  Path benchmark(String name) {
    return home.resolve("lib/bench").resolve(name);
  }

  /**
   * How a server here starts its workers.
   *
   * @param mode how much it insists on the walls around them
   * @param users user ids for them
   * @param variables environment variables that they get besides the usual ones
   */
  WorkerCommand worker(SandboxMode mode, UserRange users, List<String> variables) {
    // A worker that writes down what it loads, for the build, must be able to write.
    SandboxMode actual = System.getenv().containsKey("GPUPOOL_AOT_RECORD") ? SandboxMode.OFF : mode;
    return worker()
        .within(
            new SandboxOptions(
                actual,
                home.resolve("lib/gpupool-sandbox"),
                home.resolve("lib"),
                users,
                variables));
  }

  private WorkerCommand worker() {
    WorkerCommand command =
        new WorkerCommand(List.of(home.resolve("bin/gpupool").toString(), "worker"));
    return Files.isExecutable(launcher()) ? command.boundBy(launcher()) : command;
  }

  /** A file that must be there. */
  Path require(Path file) throws IOException {
    if (!Files.exists(file)) {
      throw new IOException(file + " is missing from the installation; unpack the archive again");
    }
    return file;
  }

  static String version() {
    return BuildVersion.TEXT;
  }
}
