// SPDX-License-Identifier: Apache-2.0
package io.gpupool.e2e;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.SortedSet;
import java.util.TreeSet;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/**
 * The shim beside NVIDIA's own library: whatever a program finds in one by name it finds in the
 * other. Neither needs a GPU for that.
 */
class NvidiaLibraryIT {
  private static final Path SHIM = Distribution.SHIM.resolve("libcuda.so.1");

  /** What only NVIDIA's library exports, by the beginnings of names, and why that is so. */
  private static final Map<String, String> LEFT_OUT =
      Map.of(
          "cudbg", "debuggers look into the process of a driver; the worker's is elsewhere",
          "cuEGLApiInit", "EGL's library calls it, on a machine that has the GPU",
          "cuMemGetAttribute", "is in no header; no library of CUDA's is known to call it");

  private static final int LEGACY_STREAM = 0;
  private static final int STREAM_OF_THE_THREAD = 2;
  private static final int STATUS = 3;

  /** Versions of CUDA with which entry points came, or could have. */
  private static final List<Integer> VERSIONS =
      Stream.of(
              IntStream.of(2000, 2010, 2020, 2030, 3000, 3010, 3020, 4000, 4010, 4020, 5000),
              IntStream.of(5050, 6000, 6050, 7000, 7050, 8000, 9000, 9010, 9020, 10000, 10010),
              IntStream.of(10020),
              IntStream.rangeClosed(0, 8).map(minor -> 11000 + 10 * minor),
              IntStream.rangeClosed(0, 9).map(minor -> 12000 + 10 * minor))
          .flatMap(IntStream::boxed)
          .toList();

  @ParameterizedTest
  @CsvSource({"bookworm, 12020", "trixie, 12040"})
  void exports_ofNvidiasLibrary_areTheShimsToo(String release, int version) {
    SortedSet<String> missing = NvidiaLibrary.exports(NvidiaLibrary.of(release).file());
    assertThat(missing).as("of CUDA %d", version).hasSizeGreaterThan(500);

    missing.removeAll(NvidiaLibrary.exports(SHIM));

    missing.removeIf(name -> LEFT_OUT.keySet().stream().anyMatch(name::startsWith));
    assertThat(missing).isEmpty();
  }

  @ParameterizedTest
  @CsvSource({"bookworm, 12020", "trixie, 12040"})
  void entryPoints_byNameAndVersion_areThoseOfNvidiasLibrary(String release, int version) {
    Path library = NvidiaLibrary.of(release).file();
    List<String> questions = questions(NvidiaLibrary.exports(library), version);
    List<String> wanted = NvidiaLibrary.entryPoints(library, questions);

    List<String> found = NvidiaLibrary.entryPoints(SHIM, questions);

    Set<String> known =
        wanted.stream()
            .map(line -> line.split(" "))
            .filter(columns -> columns[STATUS].equals("0"))
            .map(columns -> columns[0])
            .collect(Collectors.toSet());
    assertThat(known).hasSizeGreaterThan(400);
    List<String> differences = new ArrayList<>();
    for (int i = 0; i < questions.size(); i++) {
      boolean isKnown = known.contains(questions.get(i).split(" ")[0]);
      if (isKnown && !wanted.get(i).equals(found.get(i))) {
        differences.add("it has: " + wanted.get(i) + "; the shim: " + found.get(i));
      }
    }
    assertThat(differences).isEmpty();
  }

  private static List<String> questions(Set<String> exports, int newest) {
    SortedSet<String> names =
        exports.stream()
            .filter(name -> name.startsWith("cu") && !name.startsWith("cudbg"))
            .map(name -> name.replaceFirst("_(ptds|ptsz)$", "").replaceFirst("_v\\d+$", ""))
            .collect(Collectors.toCollection(TreeSet::new));
    return names.stream()
        .flatMap(name ->
            VERSIONS.stream()
                .filter(version -> version <= newest)
                .flatMap(version ->
                    Stream.of(LEGACY_STREAM, STREAM_OF_THE_THREAD)
                        .map(flags -> name + " " + version + " " + flags)))
        .toList();
  }
}
