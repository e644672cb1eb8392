// SPDX-License-Identifier: Apache-2.0
package io.gpupool.e2e.kubernetes;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.time.Duration;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.List;
import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * An image that knows nothing of gpupool: a shell, a C library, and a CUDA program. That is one of
 * the CUDA runtime's where nvcc is, else one of the driver API's.
 */
final class ProgramImage {
  static final String NAME = "localhost/program:1";
  private static final Duration COMPILING = Duration.ofMinutes(2);
  private static final Pattern LIBRARY = Pattern.compile("(?:=> |^\\s*)(/\\S+) \\(");
  private static final Path EXAMPLES = Cluster.DEPLOY.resolve("examples");

  private ProgramImage() {}

  /**
   * Makes its archive.
   *
   * @return the command that runs the program in it, which ends with a line {@code NAME: OK}
   */
  static List<String> make(Path folder, Path archive) throws IOException {
    Path root = Files.createDirectories(folder.resolve("root"));
    for (String name : List.of("tmp", "proc", "dev", "sys", "etc", "run", "var/run")) {
      Files.createDirectories(root.resolve(name));
    }
    boolean runtime = onPath("nvcc").isPresent();
    Path program = folder.resolve("vector_add");
    Path source = EXAMPLES.resolve(runtime ? "cuda/vector_add.cu" : "driver-api/vector_add.c");
    if (runtime) {
      run("nvcc", "-O3", "-arch=sm_75", "-cudart", "static", "-o", program, source);
    } else {
      run("gcc", "-O2", "-o", program, source, "-ldl", "-lpthread");
    }
    copy(program, root.resolve("vector_add"));
    // One that checks all that it computes, for as long as its input is open.
    Path checked = folder.resolve("resumed");
    Path checkedSource = Cluster.DEPLOY.resolve("src/test/c/resumed.c");
    run(
        "gcc",
        "-O2",
        "-DVALUES=3001",
        "-DPAUSE_MICROS=1000000",
        "-o",
        checked,
        checkedSource,
        "-ldl",
        "-lpthread");
    copy(checked, root.resolve("resumed"));
    copy(EXAMPLES.resolve("driver-api/kernels.ptx"), root.resolve("kernels.ptx"));
    // A program that goes on for as long as it gets lines, and says after each what it has done.
    for (String part : List.of("load", "load.ptx")) {
      copy(Cluster.DEPLOY.resolve("target/gpupool/lib/bench").resolve(part), root.resolve(part));
    }
    for (String tool : List.of("sh", "cat", "sleep", "ls", "id")) {
      Path place = onPath(tool).orElseThrow();
      copy(place, root.resolve("bin/" + tool));
      copyLibraries(place, root);
    }
    copyLibraries(program, root);
    pack(root, folder, archive);
    return runtime ? List.of("/vector_add") : List.of("/vector_add", "/kernels.ptx");
  }

  private static void copyLibraries(Path program, Path root) throws IOException {
    for (String line : run("ldd", program).lines().toList()) {
      Matcher library = LIBRARY.matcher(line);
      if (library.find()) {
        Path place = Path.of(library.group(1));
        copy(place, root.resolve(Path.of("/").relativize(place)));
        if (place.endsWith("libc.so.6")) {
          // Any system has the C library as a whole.
          for (String part : List.of("libpthread.so.0", "libdl.so.2", "librt.so.1", "libm.so.6")) {
            Path beside = place.resolveSibling(part);
            if (Files.exists(beside)) {
              copy(beside, root.resolve(Path.of("/").relativize(beside)));
            }
          }
        }
      }
    }
  }

  private static void copy(Path from, Path to) throws IOException {
    Files.createDirectories(to.getParent());
    Files.copy(from.toRealPath(), to, StandardCopyOption.REPLACE_EXISTING);
  }

  /** As Docker saves images. */
  private static void pack(Path root, Path folder, Path archive) throws IOException {
    Path layer = folder.resolve("layer.tar");
    run("tar", "-C", root, "--owner=0", "--group=0", "-cf", layer, ".");
    Files.writeString(
        folder.resolve("config.json"),
        """
        {"architecture": "amd64", "os": "linux", "config": {"Env": ["PATH=/bin"]},
         "rootfs": {"type": "layers", "diff_ids": ["sha256:%s"]}}
        """
            .formatted(digest(layer)));
    Files.writeString(
        folder.resolve("manifest.json"),
        "[{\"Config\": \"config.json\", \"RepoTags\": [\""
            + NAME
            + "\"], \"Layers\": [\"layer.tar\"]}]");
    run("tar", "-C", folder, "-cf", archive, "manifest.json", "config.json", "layer.tar");
  }

  private static String digest(Path file) throws IOException {
    try {
      return HexFormat.of()
          .formatHex(MessageDigest.getInstance("SHA-256").digest(Files.readAllBytes(file)));
    } catch (NoSuchAlgorithmException e) {
      throw new IllegalStateException(e);
    }
  }

  private static Optional<Path> onPath(String program) {
    return Arrays.stream(System.getenv("PATH").split(":"))
        .map(folder -> Path.of(folder, program))
        .filter(Files::isExecutable)
        .findFirst();
  }

  private static String run(Object... command) {
    Shell.Ended ended = Shell.run(COMPILING, command);
    assertThat(ended.status()).as("%s: %s", Arrays.toString(command), ended).isZero();
    return ended.output();
  }
}
