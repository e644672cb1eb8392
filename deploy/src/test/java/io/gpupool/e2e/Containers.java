// SPDX-License-Identifier: Apache-2.0
package io.gpupool.e2e;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;

/**
 * What containers are tried with: an image that knows nothing of gpupool, of this machine's own
 * files, since none can be downloaded everywhere.
 */
final class Containers {
  static final String IMAGE = "localhost/gpupool-test:1";
  static final Path KERNELS = Path.of("/kernels.ptx");
  static final Path NCCL_KERNELS = Path.of("/nccl-kernels.ptx");

  private static final Pattern LIBRARY = Pattern.compile("(/\\S+) \\(0x");

  private Containers() {}

  /** The program of the image that trains; without nvcc another one that computes. */
  static List<String> training() {
    return CudaPrograms.canBeMade()
        ? List.of("/bin/neural_network")
        : List.of("/bin/vector_add", KERNELS.toString());
  }

  /** Packs the image's root: a shell, a few programs, and the libraries that these need. */
  static Path pack(Path folder) throws Exception {
    Path root = Files.createDirectories(folder.resolve("root"));
    List<Path> programs = new ArrayList<>();
    for (String tool : List.of("sh", "sleep", "cat", "id")) {
      programs.add(Path.of(run("sh", "-c", "command -v " + tool).strip()));
    }
    programs.add(CPrograms.example("vector_add"));
    programs.add(CPrograms.fixture("tenant"));
    programs.add(CPrograms.ncclExample("data_parallel"));
    if (CudaPrograms.canBeMade()) {
      programs.add(CudaPrograms.make("neural_network"));
    }
    for (Path program : programs) {
      copy(program, root.resolve("bin").resolve(program.getFileName()));
      copyLibraries(program, root);
    }
    // Any image with a C library has all of it; here it is those parts that are needed.
    copyLibraries(Distribution.SHIM.resolve("libcuda.so.1"), root);
    copy(Distribution.KERNELS, root.resolve(Path.of("/").relativize(KERNELS)));
    Path ofNccl = Distribution.NCCL_EXAMPLES.resolve("kernels.ptx");
    copy(ofNccl, root.resolve(Path.of("/").relativize(NCCL_KERNELS)));
    Path packed = folder.resolve("root.tar");
    run("tar", "-C", root.toString(), "--owner=0", "--group=0", "-cf", packed.toString(), ".");
    return packed;
  }

  private static void copyLibraries(Path of, Path root) throws Exception {
    Matcher library = LIBRARY.matcher(run("ldd", of.toString()));
    while (library.find()) {
      Path file = Path.of(library.group(1));
      copy(file, root.resolve(Path.of("/").relativize(file)));
    }
  }

  private static void copy(Path from, Path to) throws Exception {
    if (!Files.exists(to)) {
      Files.createDirectories(to.getParent());
      Files.copy(from.toRealPath(), to);
    }
  }

  /** What {@code gpupool container options} says, word by word. */
  static List<String> options(Agent agent, String... share) {
    return Stream.of(gpupool(agent, "options", share).output().split("\\s+")).toList();
  }

  static Program.Ended gpupool(Agent agent, String subcommand, String... options) {
    List<String> command =
        new ArrayList<>(List.of(Distribution.gpupool().toString(), "container", subcommand));
    command.addAll(List.of(options));
    Program.Ended ended = Program.of(command).with("GPUPOOL_AGENT", agent.socket()).run();
    assertThat(ended.status()).as(ended.toString()).isZero();
    assertThat(ended.errors()).isEmpty();
    return ended;
  }

  private static String run(String... command) {
    Program.Ended ended = Program.of(List.of(command)).run();
    assertThat(ended.status()).as("%s: %s", List.of(command), ended).isZero();
    return ended.output();
  }
}
