// SPDX-License-Identifier: Apache-2.0
package io.gpupool.e2e;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import java.io.IOException;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.io.Writer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import java.util.regex.MatchResult;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.spi.ToolProvider;
import java.util.stream.Collectors;
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

  /**
   * The client's part is what a machine with programs needs: shim, agent, commands of clients, and
   * the runtime. The start-up caches only save time. A container gets the shim's libraries alone.
   */
  @Test
  void clientsPart_packed_isAsLargeAsThePagesSay() throws IOException {
    List<Object> command = new ArrayList<>(List.of("tar", "-C", home, "-czf", "client.tar.gz"));
    command.addAll(List.of("bin", "lib/shim", "lib/native", "lib/runtime", "lib/gpupool-exec"));
    command.addAll(clientJars());
    assertThat(bare(command.toArray()).status()).isZero();
    long mebibytes = Math.round(Files.size(folder.resolve("client.tar.gz")) / (double) (1 << 20));
    assertThat(mebibytes)
        .isLessThan(figure("CONTRIBUTING.md", "shim, agent and runtime, stays under (\\d+) MiB"))
        .isCloseTo(
            figure("docs/how-to/containers.md", "part of the archive is about (\\d+) MiB"),
            within(2L));
    try (Stream<Path> shim = Files.list(home.resolve("lib/shim"))) {
      assertThat(
              shim.filter(path -> !Files.isSymbolicLink(path))
                  .mapToLong(path -> path.toFile().length())
                  .sum())
          .isLessThan(figure("docs/how-to/containers.md", "less than (\\d+) MiB") << 20);
    }
  }

  private static long figure(String page, String pattern) throws IOException {
    Path file = Distribution.DEPLOY.resolve("..").resolve(page);
    Matcher found = Pattern.compile(pattern).matcher(Files.readString(file));
    assertThat(found.find()).as("%s in %s", pattern, page).isTrue();
    return Long.parseLong(found.group(1));
  }

  /** The jars that the commands of clients and the agent reach, and those found as services. */
  private static List<String> clientJars() throws IOException {
    List<Path> jars =
        filesIn(home.resolve("lib")).stream().filter(p -> p.toString().endsWith(".jar")).toList();
    String classPath = jars.stream().map(Path::toString).collect(Collectors.joining(":"));
    StringWriter arrows = new StringWriter();
    int status =
        ToolProvider.findFirst("jdeps")
            .orElseThrow()
            .run(
                new PrintWriter(arrows),
                new PrintWriter(Writer.nullWriter()),
                "--multi-release",
                "25",
                "-summary",
                "-recursive",
                "--class-path",
                classPath,
                jar(jars, "gpupool-cli").toString());
    assertThat(status).isZero();
    Set<String> reached =
        Pattern.compile("[^\\s/]+\\.jar")
            .matcher(arrows.toString())
            .results()
            .map(MatchResult::group)
            .collect(Collectors.toCollection(TreeSet::new));
    reached.add(jar(jars, "logback-core").getFileName().toString());
    reached.add(jar(jars, "logback-classic").getFileName().toString());
    assertThat(reached)
        .anyMatch(name -> name.startsWith("gpupool-agent"))
        .noneMatch(name -> name.matches("gpupool-(server|worker|soft-gpu|rest)-.*"));
    return reached.stream().map(name -> "lib/" + name).toList();
  }

  private static Path jar(List<Path> jars, String name) {
    return jars.stream()
        .filter(path -> path.getFileName().toString().matches(name + "-\\d.*"))
        .findFirst()
        .orElseThrow();
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
