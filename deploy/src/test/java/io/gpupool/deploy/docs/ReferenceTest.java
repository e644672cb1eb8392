// SPDX-License-Identifier: Apache-2.0
package io.gpupool.deploy.docs;

import static org.assertj.core.api.Assertions.assertThat;

import io.gpupool.deploy.ProjectTree;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Set;
import java.util.TreeSet;
import java.util.function.Predicate;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;

/** Reference pages that list names which code declares in many places. */
class ReferenceTest {
  private static final Pattern VARIABLE =
      Pattern.compile("(?<![\\w.])GPUPOOL_[A-Z]+(?:_[A-Z]+)*(?![\\w])");

  /** Variables by which the code tells how large a lease shall be are made of this prefix. */
  private static final Set<String> LEASE_VARIABLES =
      Set.of(
          "GPUPOOL_GPUS",
          "GPUPOOL_FRACTION",
          "GPUPOOL_MEMORY",
          "GPUPOOL_COMPUTE",
          "GPUPOOL_CLASS",
          "GPUPOOL_IDLE_TIMEOUT",
          "GPUPOOL_TIME_LIMIT",
          "GPUPOOL_RESUME_WINDOW");

  /**
   * A macro of the shim, a mark by which one test finds its own processes, and a name that another
   * test finds to be none.
   */
  private static final Set<String> NO_VARIABLES =
      Set.of("GPUPOOL_STAT_VERSION", "GPUPOOL_TEST_MARK", "GPUPOOL_PART");

  private static final Pattern LITERAL = Pattern.compile("\"(gpupool\\.io/[A-Za-z-]+)\"");
  private static final Pattern WITH_PREFIX =
      Pattern.compile("\\b((?:BITFUSION_)?PREFIX|TAINT|SlicePlan\\.TAINT) \\+ \"([A-Za-z-]+)\"");
  private static final Pattern DOCUMENTED =
      Pattern.compile("`((?:gpupool|bitfusion)\\.io/[A-Za-z-]+)[`.]");

  @Test
  void environment_listsTheVariablesThatCodeReads() throws IOException {
    Set<String> inCode = new TreeSet<>(LEASE_VARIABLES);
    for (Path path : files(ReferenceTest::isCode)) {
      VARIABLE.matcher(text(path)).results().forEach(found -> inCode.add(found.group()));
    }
    inCode.removeAll(NO_VARIABLES);
    Set<String> documented = new TreeSet<>();
    VARIABLE
        .matcher(text(Path.of("docs/reference/environment.md")))
        .results()
        .forEach(found -> documented.add(found.group()));
    assertThat(documented).isEqualTo(inCode);
  }

  @Test
  void annotations_listTheNamesOfThePlugin() throws IOException {
    Set<String> inCode = new TreeSet<>();
    for (Path path : files(path -> path.startsWith("k8s-plugin/src/main/java"))) {
      String text = text(path);
      LITERAL.matcher(text).results().forEach(found -> inCode.add(found.group(1)));
      WITH_PREFIX
          .matcher(text)
          .results()
          .forEach(found ->
              inCode.add(
                  (found.group(1).startsWith("BITFUSION") ? "bitfusion.io/" : "gpupool.io/")
                      + found.group(2)));
    }
    assertThat(inCode).hasSizeGreaterThan(20);
    Set<String> documented = new TreeSet<>();
    DOCUMENTED
        .matcher(text(Path.of("docs/reference/annotations.md")))
        .results()
        .forEach(found -> documented.add(found.group(1)));
    assertThat(documented).containsAll(inCode);
    // Taints are made of the name of a condition.
    documented.removeAll(Set.of("gpupool.io/unhealthy", "gpupool.io/draining"));
    assertThat(inCode).containsAll(documented);
  }

  private static boolean isCode(Path path) {
    String name = path.toString();
    return name.contains("src/main/")
        ? name.matches(".*\\.(java|c|h)")
        : name.matches(
            "deploy/(bin|build|kubernetes)/.*|deploy/quickstart|deploy/charts/.*\\.(yaml|tpl)"
                + "|deploy/src/test/java/.*");
  }

  private static Iterable<Path> files(Predicate<Path> wanted) throws IOException {
    return ProjectTree.files().stream().filter(wanted).toList();
  }

  private static String text(Path path) throws IOException {
    return Files.readString(ProjectTree.ROOT.resolve(path), StandardCharsets.ISO_8859_1);
  }
}
