// SPDX-License-Identifier: Apache-2.0
package io.gpupool.e2e.kubernetes;

import java.io.IOException;
import java.nio.file.Path;
import java.util.List;

/**
 * An image that knows nothing of gpupool: a shell, a C library, and a CUDA program. That is one of
 * the CUDA runtime's where nvcc is, else one of the driver API's.
 */
final class ProgramImage {
  static final String NAME = "localhost/program:1";
  private static final Path EXAMPLES = Cluster.DEPLOY.resolve("examples");

  private ProgramImage() {}

  /**
   * Makes its archive.
   *
   * @return the command that runs the program in it, which ends with a line {@code NAME: OK}
   */
  static List<String> make(Path folder, Path archive) throws IOException {
    ImageRoot root = new ImageRoot(folder);
    boolean runtime = ImageRoot.onPath("nvcc").isPresent();
    Path program = folder.resolve("vector_add");
    Path source = EXAMPLES.resolve(runtime ? "cuda/vector_add.cu" : "driver-api/vector_add.c");
    if (runtime) {
      ImageRoot.run("nvcc", "-O3", "-arch=sm_75", "-cudart", "static", "-o", program, source);
    } else {
      ImageRoot.run("gcc", "-O2", "-o", program, source, "-ldl", "-lpthread");
    }
    root.copy(program, "/vector_add");
    // One that checks all that it computes, for as long as its input is open.
    Path checked = folder.resolve("resumed");
    Path checkedSource = Cluster.DEPLOY.resolve("src/test/c/resumed.c");
    ImageRoot.run(
        "gcc",
        "-O2",
        "-DVALUES=3001",
        "-DPAUSE_MICROS=1000000",
        "-o",
        checked,
        checkedSource,
        "-ldl",
        "-lpthread");
    root.copy(checked, "/resumed");
    root.copy(EXAMPLES.resolve("driver-api/kernels.ptx"), "/kernels.ptx");
    // A program that goes on for as long as it gets lines, and says after each what it has done.
    for (String part : List.of("load", "load.ptx")) {
      root.copy(Cluster.DEPLOY.resolve("target/gpupool/lib/bench").resolve(part), "/" + part);
    }
    for (String tool : List.of("sh", "cat", "sleep", "ls", "id")) {
      root.tool(tool, "/bin/" + tool);
    }
    root.copyLibraries(program);
    root.pack(NAME, archive);
    return runtime ? List.of("/vector_add") : List.of("/vector_add", "/kernels.ptx");
  }
}
