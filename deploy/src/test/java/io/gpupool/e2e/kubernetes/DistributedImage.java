// SPDX-License-Identifier: Apache-2.0
package io.gpupool.e2e.kubernetes;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;

/**
 * An image for distributed jobs that knows nothing of gpupool: this machine's Open MPI and SSH, a
 * program of both MPI and NCCL in the place of NCCL's own tests, and a Python that pods mount from
 * this machine, as it is too large for an image.
 */
final class DistributedImage {
  static final String NAME = "localhost/distributed:1";
  private static final List<String> NEEDED =
      List.of("mpicc", "mpirun", "orted", "ssh", "sshd", "ssh-keygen");
  private static final Path OWN_PYTHON =
      Path.of(System.getenv().getOrDefault("GPUPOOL_TEST_PYTHON", "/no/python"));

  private DistributedImage() {}

  /** Skips the test where this machine lacks what belongs into the image. */
  static void assumeParts() {
    for (String tool : NEEDED) {
      assumeTrue(
          ImageRoot.onPath(tool).isPresent(),
          () ->
              "skipped: no "
                  + tool
                  + " (apt-get install openmpi-bin libopenmpi-dev openssh-client openssh-server)");
    }
  }

  /** Makes its archive. */
  static void make(Path folder, Path archive) throws IOException {
    ImageRoot root = new ImageRoot(folder);
    for (String tool : List.of("sh", "cat", "sleep", "hostname", "getent", "env")) {
      root.tool(tool, "/bin/" + tool);
    }
    addMpi(root);
    addSsh(root);
    Path program = folder.resolve("mpi_all_reduce");
    Path source = Cluster.DEPLOY.resolve("src/test/c/mpi_all_reduce.c");
    ImageRoot.run("mpicc", "-O2", "-o", program, source, "-ldl", "-lm", "-lpthread");
    root.copy(program, "/opt/nccl_tests/build/all_reduce_perf");
    root.copyLibraries(program);
    if (Files.isExecutable(OWN_PYTHON)) {
      addPython(root);
    }
    root.pack(NAME, archive);
  }

  private static void addMpi(ImageRoot root) throws IOException {
    for (String tool : List.of("mpirun", "orted")) {
      root.tool(tool, "/usr/bin/" + tool);
    }
    for (String tree :
        List.of(
            "lib/x86_64-linux-gnu/openmpi/lib",
            "lib/x86_64-linux-gnu/pmix2/lib",
            "share/openmpi")) {
      root.tree(Path.of("/usr").resolve(tree));
    }
    root.write("/etc/openmpi/openmpi-mca-params.conf", "");
  }

  /** With the settings of the MPI operator's own images. */
  private static void addSsh(ImageRoot root) throws IOException {
    root.tool("ssh", "/usr/bin/ssh");
    root.tool("sshd", "/usr/sbin/sshd");
    root.write(
        "/etc/passwd", "root:x:0:0:root:/root:/bin/sh\nsshd:x:100:65534::/run/sshd:/bin/false\n");
    root.write("/etc/group", "root:x:0:\nnogroup:x:65534:\n");
    root.write("/etc/nsswitch.conf", "passwd: files\ngroup: files\nhosts: files dns\n");
    root.write(
        "/etc/ssh/ssh_config",
        "Host *\n"
            + "  StrictHostKeyChecking no\n"
            + "  UserKnownHostsFile /dev/null\n"
            + "  LogLevel ERROR\n"
            + "  Port 2222\n");
    root.write("/etc/ssh/sshd_config", "StrictModes no\nPort 2222\n");
    Files.createDirectories(root.at("/root"));
    Files.createDirectories(root.at("/run/sshd"));
    ImageRoot.run(
        "ssh-keygen",
        "-q",
        "-t",
        "ed25519",
        "-N",
        "",
        "-f",
        root.at("/etc/ssh/ssh_host_ed25519_key"));
  }

  /** Folders of Python that pods mount from this machine; none without such a Python. */
  static List<Path> pythonFolders() {
    return askPython("import sys; print(sys.prefix); print(sys.base_prefix)")
        .map(text -> text.lines().map(Path::of).distinct().toList())
        .orElse(List.of());
  }

  private static void addPython(ImageRoot root) throws IOException {
    root.write("/usr/bin/python", "#!/bin/sh\nexec " + OWN_PYTHON.toAbsolutePath() + " \"$@\"\n");
    assertThat(root.at("/usr/bin/python").toFile().setExecutable(true, false)).isTrue();
    root.copyLibraries(OWN_PYTHON);
    Path extensions =
        Path.of(
            askPython("import sysconfig; print(sysconfig.get_config_var('DESTSHARED'))")
                .orElseThrow()
                .strip());
    try (var files = Files.list(extensions)) {
      for (Path file : files.toList()) {
        root.copyLibraries(file);
      }
    }
    for (String library : List.of("libstdc++.so.6", "libgcc_s.so.1", "libutil.so.1")) {
      Path place = Path.of(ImageRoot.run("gcc", "-print-file-name=" + library).strip());
      root.copy(place, "/usr/lib/x86_64-linux-gnu/" + library);
      root.copyLibraries(place);
    }
  }

  private static Optional<String> askPython(String question) {
    return Files.isExecutable(OWN_PYTHON)
        ? Optional.of(ImageRoot.run(OWN_PYTHON, "-c", question))
        : Optional.empty();
  }
}
