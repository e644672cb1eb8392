// SPDX-License-Identifier: Apache-2.0
package io.gpupool.cli;

import io.gpupool.wire.BuildVersion;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;

/**
 * The parts of gpupool on this machine. They are in the folder that the launcher names with {@code
 * -Dgpupool.home}, laid out as the distribution is.
 *
 * @param home the distribution's folder
 */
public record Installation(Path home) {
  public static Installation find() {
    String home = System.getProperty("gpupool.home");
    if (home == null) {
      throw new IllegalStateException(
          "where gpupool is installed is not known: start it with bin/gpupool of the distribution");
    }
    return new Installation(Path.of(home));
  }

  /** Returns the folder with {@code libcuda.so.1}. */
  public Path shim() {
    return home.resolve("lib/shim");
  }

  /** Returns the library that programs on software GPUs preload, so that NVRTC gives them PTX. */
  public Path nvrtc() {
    return home.resolve("lib/libgpupool-nvrtc.so");
  }

  /** Returns the library that programs on software GPUs preload in place of NVIDIA's NCCL. */
  public Path nccl() {
    return home.resolve("lib/nccl/libnccl.so.2");
  }

  /**
   * Returns the assembler that programs on software GPUs run instead of NVIDIA's, and which keeps
   * PTX.
   */
  public Path ptxas() {
    return home.resolve("lib/gpupool-ptxas");
  }

  /** Returns the folder of Python modules for programs on software GPUs. */
  public Path python() {
    return home.resolve("lib/python");
  }

  /** Returns the program that ties another's life to this process's. */
  public Path launcher() {
    return home.resolve("lib/gpupool-exec");
  }

  /** Returns a program that measures. */
  public Path benchmark(String name) {
    return home.resolve("lib/bench").resolve(name);
  }

  /** Returns the command itself. */
  public Path command() {
    return home.resolve("bin/gpupool");
  }

  /** Returns the file if it exists. */
  public Path require(Path file) throws IOException {
    if (!Files.exists(file)) {
      throw new IOException(file + " is missing from the installation; unpack the archive again");
    }
    return file;
  }

  public static String version() {
    return BuildVersion.TEXT;
  }
}
