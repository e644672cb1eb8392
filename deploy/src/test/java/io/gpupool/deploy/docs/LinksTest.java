// SPDX-License-Identifier: Apache-2.0
package io.gpupool.deploy.docs;

import static org.assertj.core.api.Assertions.assertThat;

import io.gpupool.deploy.ProjectTree;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import java.util.regex.MatchResult;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;

/** References to pages and files, in the documents and in the code. */
class LinksTest {
  private static final Pattern PAGE_IN_CODE = Pattern.compile("(?<![\\w/.-])docs/[\\w/-]+\\.md");
  private static final Pattern PROGRAM_TEXT =
      Pattern.compile(".*\\.(java|c|h|inc|cu|proto|sh|py|js|yaml|xml|txt|contract|tpl)");

  @Test
  void links_ofAllPages_reachAFileAndAHeading() throws IOException {
    List<String> broken = new ArrayList<>();
    for (Page page : Page.all()) {
      for (String link : page.links()) {
        if (!link.matches("[a-z]+:.*") && !reaches(page, link)) {
          broken.add(page.path() + ": " + link);
        }
      }
    }
    assertThat(broken).isEmpty();
  }

  @Test
  void pages_thatCodeNames_exist() throws IOException {
    Set<String> missing = new TreeSet<>();
    for (Path path : ProjectTree.files()) {
      if (PROGRAM_TEXT.matcher(path.toString()).matches()) {
        PAGE_IN_CODE
            .matcher(Files.readString(ProjectTree.ROOT.resolve(path)))
            .results()
            .map(MatchResult::group)
            .filter(page -> !Files.exists(ProjectTree.ROOT.resolve(page)))
            .forEach(page -> missing.add(path + ": " + page));
      }
    }
    assertThat(missing).isEmpty();
  }

  @Test
  void pages_ofTheDocumentation_areReachableFromTheReadme() throws IOException {
    Set<Path> reached = new TreeSet<>();
    List<Path> next = new ArrayList<>(List.of(Path.of("README.md")));
    while (!next.isEmpty()) {
      Path path = next.removeLast();
      if (reached.add(path)) {
        for (String link : Page.read(path).links()) {
          Path target = page(target(path, link));
          if (target.toString().endsWith(".md") && Files.exists(ProjectTree.ROOT.resolve(target))) {
            next.add(target);
          }
        }
      }
    }
    assertThat(reached)
        .containsAll(
            Page.all().stream()
                .map(Page::path)
                .filter(path -> path.startsWith("docs") || path.getNameCount() == 1)
                .toList());
  }

  @Test
  void link_toAMissingHeading_isFound() {
    Page page = Page.of(Path.of("README.md"), "# Title\nSee [this](#title) and [that](#none).\n");
    assertThat(page.links()).filteredOn(link -> !reaches(page, link)).containsExactly("#none");
  }

  private static boolean reaches(Page page, String link) {
    String[] parts = link.split("#", 2);
    Path target = target(page.path(), link);
    Path file = ProjectTree.ROOT.resolve(target);
    if (!Files.exists(file)) {
      return false;
    }
    if (parts.length == 1) {
      return true;
    }
    try {
      Page reached = parts[0].isEmpty() ? page : Page.read(target);
      return reached.anchors().contains(parts[1]);
    } catch (IOException e) {
      throw new AssertionError(e);
    }
  }

  /** A folder's page is its README.md. */
  private static Path page(Path target) {
    return Files.isDirectory(ProjectTree.ROOT.resolve(target))
        ? target.resolve("README.md")
        : target;
  }

  private static Path target(Path page, String link) {
    String path = link.split("#", 2)[0];
    return path.isEmpty() ? page : page.resolveSibling(path).normalize();
  }
}
