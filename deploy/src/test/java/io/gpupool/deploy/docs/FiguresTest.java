// SPDX-License-Identifier: Apache-2.0
package io.gpupool.deploy.docs;

import static org.assertj.core.api.Assertions.assertThat;

import io.gpupool.deploy.ProjectTree;
import io.gpupool.deploy.docs.Page.Kind;
import io.gpupool.deploy.docs.Page.Line;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.regex.MatchResult;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;

/** Figures that a document repeats from another place. */
class FiguresTest {
  private static final Pattern COVERED = Pattern.compile("\\[(\\d+) of (\\d+) entry points]");
  private static final Pattern CLASS = Pattern.compile("(?m)^\\| (\\w+) \\| (\\d+) \\| .*");

  @Test
  void readme_figuresOfSpeed_standInThePerformancePage() throws IOException {
    List<String> measured = rows(Page.read(Path.of("docs/reference/performance.md")));
    List<String> shown =
        rows(Page.read(Path.of("README.md"))).stream()
            .filter(row -> row.matches(".* times (less|more) \\|"))
            .toList();
    assertThat(shown).hasSizeGreaterThan(3);
    assertThat(measured).containsAll(shown);
  }

  @Test
  void readme_numberOfEntryPoints_isThatOfTheCoveragePage() throws IOException {
    Matcher covered = COVERED.matcher(text("README.md"));
    assertThat(covered.find()).isTrue();
    int answered = 0;
    int all = 0;
    List<MatchResult> classes =
        CLASS.matcher(text("docs/reference/cuda-coverage.md")).results().toList();
    for (MatchResult row : classes) {
      int count = Integer.parseInt(row.group(2));
      switch (row.group(1)) {
        case "local", "posted", "fenced", "callback" -> answered += count;
        case "all" -> all = count;
        default -> {}
      }
    }
    assertThat(List.of(covered.group(1), covered.group(2)))
        .containsExactly(Integer.toString(answered), Integer.toString(all));
  }

  @Test
  void contributing_limitOfTheDistribution_isTheBuilds() throws IOException {
    Matcher limit =
        Pattern.compile("max_archive_bytes=\\$\\(\\((\\d+) \\* 1024 \\* 1024")
            .matcher(text("deploy/build/assemble"));
    assertThat(limit.find()).isTrue();
    assertThat(text("CONTRIBUTING.md"))
        .contains("The distribution stays under " + limit.group(1) + " MiB.");
  }

  private static List<String> rows(Page page) {
    return page.lines(Kind.TABLE).stream().map(Line::text).toList();
  }

  private static String text(String path) throws IOException {
    return Files.readString(ProjectTree.ROOT.resolve(path));
  }
}
