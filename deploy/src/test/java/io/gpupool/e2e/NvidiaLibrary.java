// SPDX-License-Identifier: Apache-2.0
package io.gpupool.e2e;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.SortedSet;
import java.util.TreeSet;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * NVIDIA's own libcuda, of Debian's non-free packages: it answers questions after its entry points
 * on machines without a GPU, too.
 *
 * @param release of Debian
 * @param file the library
 */
record NvidiaLibrary(String release, Path file) {
  private static final Path FOLDER = Distribution.WORK.resolve("nvidia");
  private static final String ARCHIVE = "http://deb.debian.org/debian";
  private static final Path KEYS = Path.of("/usr/share/keyrings/debian-archive-keyring.gpg");
  private static final Duration FETCHING = Duration.ofMinutes(3);

  /** That of one release; skips the test, with the reason, where it cannot be had. */
  static NvidiaLibrary of(String release) {
    Path folder = FOLDER.resolve(release);
    if (find(folder).isEmpty()) {
      assumeTrue(Files.exists(KEYS), "Debian's archive cannot be trusted here: no " + KEYS);
      fetch(release, folder);
    }
    Optional<Path> found = find(folder);
    assertThat(found).as("libcuda.so.1 in " + folder).isPresent();
    return new NvidiaLibrary(release, found.orElseThrow());
  }

  private static void fetch(String release, Path folder) {
    Path apt = folder.resolve("apt");
    try {
      for (String place : List.of("lists/partial", "cache/archives/partial")) {
        Files.createDirectories(apt.resolve(place));
      }
      Files.writeString(
          apt.resolve("sources.list"),
          "deb [arch=amd64 signed-by=%s] %s %s non-free%n".formatted(KEYS, ARCHIVE, release));
      Files.writeString(apt.resolve("status"), "");
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
    String get =
        """
        set -e
        cd apt
        get() {
          timeout 120 apt-get -qq -o APT::Update::Error-Mode=any -o Acquire::Retries=0 \
            -o Acquire::http::Timeout=20 -o APT::Sandbox::User= -o APT::Architecture=amd64 \
            -o Dir::Etc::sourcelist="$PWD/sources.list" -o Dir::Etc::sourceparts=/dev/null \
            -o Dir::State::lists="$PWD/lists" -o Dir::State::status="$PWD/status" \
            -o Dir::Cache="$PWD/cache" "$@"
        }
        get update
        get download libcuda1
        dpkg-deb -x libcuda1_*.deb ..
        """;
    Program.Ended ended = Program.of("bash", "-c", get).in(folder).run(FETCHING);
    assumeTrue(
        ended.status() == 0,
        "NVIDIA's libcuda1 of Debian %s cannot be had from %s: %s"
            .formatted(release, ARCHIVE, firstLine(ended.errors())));
  }

  private static String firstLine(String text) {
    return text.strip().lines().findFirst().orElse("nothing was said");
  }

  private static Optional<Path> find(Path folder) {
    if (!Files.isDirectory(folder)) {
      return Optional.empty();
    }
    try (Stream<Path> files = Files.walk(folder)) {
      return files.filter(file -> file.getFileName().toString().equals("libcuda.so.1")).findFirst();
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  /** Names of what a library exports. */
  static SortedSet<String> exports(Path library) {
    Program.Ended ended = Program.of("readelf", "-W", "--dyn-syms", library).run();
    assertThat(ended.status()).as(ended.errors()).isZero();
    return ended
        .output()
        .lines()
        .map(line -> line.strip().split("\\s+"))
        // number, value, size, type, binding, visibility, section, name
        .filter(columns -> columns.length > 7 && columns[0].endsWith(":"))
        .filter(columns -> !columns[6].equals("UND") && !columns[6].equals("ABS"))
        .map(columns -> columns[7].split("@")[0])
        .collect(Collectors.toCollection(TreeSet::new));
  }

  /** What a library answers to such lines as test/c/entry_points.c takes, in their order. */
  static List<String> entryPoints(Path library, List<String> questions) {
    try {
      Path asked = Files.write(FOLDER.resolve("questions"), questions, UTF_8);
      Program.Ended ended =
          Program.of(
                  "bash",
                  "-c",
                  "exec \"$0\" \"$1\" < \"$2\"",
                  CPrograms.fixture("entry_points"),
                  library,
                  asked)
              .run();
      assertThat(ended.status()).as(ended.errors()).isZero();
      return ended.output().lines().toList();
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }
}
