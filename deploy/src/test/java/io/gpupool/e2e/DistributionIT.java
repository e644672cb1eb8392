// SPDX-License-Identifier: Apache-2.0
package io.gpupool.e2e;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * The archive as its user has it: unpacked somewhere, started through a link, with no Java and
 * nothing else in the environment.
 */
class DistributionIT {
  @TempDir static Path folder;
  private static Path archive;
  private static Path home;
  private static Path gpupool;

  @BeforeAll
  static void unpack() throws IOException {
    archive =
        filesIn(Distribution.DEPLOY.resolve("target")).stream()
            .filter(path -> path.toString().endsWith(".tar.gz"))
            .findFirst()
            .orElseThrow(() -> new AssertionError("no archive: run the package phase first"));
    Path unpacked = Files.createDirectory(folder.resolve("a folder"));
    assertThat(bare("tar", "-xzf", archive, "-C", unpacked).status()).isZero();
    home = unpacked.resolve("gpupool");
    gpupool = folder.resolve("link");
    Files.createSymbolicLink(gpupool, home.resolve("bin/gpupool"));
  }

  @Test
  void version_noJavaInstalled_isPrinted() {
    Program.Ended ended = bare(gpupool, "version");
    String version = archive.getFileName().toString().replaceFirst("gpupool-(.*)-linux-.*", "$1");
    assertThat(ended.output()).contains(version);
    assertThat(ended.status()).isZero();
  }

  @Test
  void run_noPoolConfigured_programComputesOnAnEmbeddedOne() {
    Path examples = home.resolve("share/examples/driver-api");
    Path program = folder.resolve("vector_add");
    Program.Ended compiled = bare("gcc", "-o", program, examples.resolve("vector_add.c"), "-ldl");
    assertThat(compiled.status()).as(compiled.errors()).isZero();

    Program.Ended ended =
        bare(gpupool, "run", "-p", "0.5", "--", program, examples.resolve("kernels.ptx"));
    assertThat(ended.output()).as(ended.errors()).contains("vector_add: OK");
    assertThat(ended.status()).isZero();
  }

  @Test
  void thirdParty_everyJar_isListedWithItsLicence() throws IOException {
    String list = Files.readString(home.resolve("share/THIRD-PARTY.txt"));
    List<String> unlisted = new ArrayList<>();
    for (Path jar : filesIn(home.resolve("lib"))) {
      String name = jar.getFileName().toString();
      String artifact = name.replaceFirst("-\\d.*\\.jar$", "");
      if (name.endsWith(".jar")
          && !name.startsWith("gpupool")
          && !list.contains(":" + artifact + ":")) {
        unlisted.add(name);
      }
    }
    assertThat(unlisted).isEmpty();
    assertThat(home.resolve("lib/runtime/legal/java.base")).isDirectory();
    assertThat(home.resolve("share/LICENSE")).isRegularFile();
  }

  @Test
  void jars_packed_areUsed() throws IOException {
    assertThat(filesIn(home.resolve("lib")))
        .extracting(path -> path.getFileName().toString())
        .as("libraries that come with others and that nothing here calls")
        .noneMatch(name -> name.matches("(proto-google-common-protos|netty-tcnative).*"));
  }

  @Test
  void natives_packed_areForOneArchitecture() throws IOException {
    assertThat(filesIn(home.resolve("lib")))
        .extracting(path -> path.getFileName().toString())
        .noneMatch(name -> name.matches(".*(osx|windows|aarch_64|riscv).*"));
    assertThat(home.resolve("lib/native/libnetty_transport_native_epoll_x86_64.so"))
        .isRegularFile();
    assertThat(home.resolve("lib/native/libjnidispatch.so")).isRegularFile();
    assertThat(Files.readSymbolicLink(home.resolve("lib/shim/libcuda.so")))
        .isEqualTo(Path.of("libcuda.so.1"));
    assertThat(home.resolve("lib/model/libcuda.so.1")).isRegularFile();
    assertThat(home.resolve("lib/model/libnvidia-ml.so.1")).isRegularFile();
  }

  /** With nothing in the environment but where the system's own programs are. */
  private static Program.Ended bare(Object... command) {
    List<Object> line = new ArrayList<>(List.of("env", "-i", "PATH=/usr/bin:/bin"));
    line.addAll(List.of(command));
    return Program.of(line.toArray()).in(folder).run();
  }

  private static List<Path> filesIn(Path directory) throws IOException {
    try (Stream<Path> files = Files.list(directory)) {
      return files.sorted().toList();
    }
  }
}
