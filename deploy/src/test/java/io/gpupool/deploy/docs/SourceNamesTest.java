// SPDX-License-Identifier: Apache-2.0
package io.gpupool.deploy.docs;

import static org.assertj.core.api.Assertions.assertThat;

import io.gpupool.deploy.ProjectTree;
import io.gpupool.deploy.docs.Page.Kind;
import io.gpupool.deploy.docs.Page.Line;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.regex.MatchResult;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;

/** Paths, types and C files that the documents quote. */
class SourceNamesTest {
  private static final Pattern QUOTED = Pattern.compile("`([^`]+)`");
  private static final Pattern PATH =
      Pattern.compile(
          "(?:client-agent|pool-server|k8s-plugin|protocol|deploy|docs|\\.ci)/[\\w./-]*[\\w/]");
  private static final Pattern TYPE = Pattern.compile("([A-Z][a-z]\\w*)(?:\\.[\\w.]+)?");
  private static final Pattern DECLARED =
      Pattern.compile("\\b(?:class|interface|enum|record|@interface)\\s+([A-Z]\\w*)");
  private static final Pattern C_FILE = Pattern.compile("\\w+\\.(?:c|h)");

  /** Pages whose capitalised code quotes are types of the project. */
  private static final Set<Path> ABOUT_CODE =
      Set.of(
          Path.of("CONTRIBUTING.md"),
          Path.of("docs/reference/glossary.md"),
          Path.of("docs/how-to/add-a-driver-call.md"));

  /** Interfaces that the build generates from the topics of ops.txt, and words of others. */
  private static final Pattern FOREIGN = Pattern.compile("\\w+Ops|EventSource");

  private static final Set<String> BUILT = Set.of("deploy/target/");

  @Test
  void paths_inAllPages_exist() throws IOException {
    List<String> missing = new ArrayList<>();
    for (Quote quote : quotes(Page.all())) {
      String path = quote.text();
      if (PATH.matcher(path).matches()
          && BUILT.stream().noneMatch(path::startsWith)
          && !path.contains("NAME")
          && !Files.exists(ProjectTree.ROOT.resolve(path))) {
        missing.add(quote.toString());
      }
    }
    assertThat(missing).isEmpty();
  }

  @Test
  void types_inPagesAboutTheCode_exist() throws IOException {
    Set<String> declared = new HashSet<>();
    for (Path file : ProjectTree.files()) {
      String name = file.getFileName().toString();
      if (name.endsWith(".java")) {
        declared.add(name.replace(".java", ""));
        DECLARED
            .matcher(Files.readString(ProjectTree.ROOT.resolve(file)))
            .results()
            .map(found -> found.group(1))
            .forEach(declared::add);
      }
      if (name.endsWith(".proto")) {
        Pattern.compile("\\b(?:rpc|message)\\s+(\\w+)")
            .matcher(Files.readString(ProjectTree.ROOT.resolve(file)))
            .results()
            .map(found -> found.group(1))
            .forEach(declared::add);
      }
    }
    List<String> missing = new ArrayList<>();
    List<Page> pages = Page.all().stream().filter(SourceNamesTest::isAboutCode).toList();
    for (Quote quote : quotes(pages)) {
      MatchResult type = TYPE.matcher(quote.text()).results().findFirst().orElse(null);
      if (type != null
          && type.group().equals(quote.text())
          && !declared.contains(type.group(1))
          && !FOREIGN.matcher(quote.text()).matches()) {
        missing.add(quote.toString());
      }
    }
    assertThat(missing).isEmpty();
  }

  @Test
  void filesOfC_inDesignPages_exist() throws IOException {
    Set<String> files = new HashSet<>();
    for (Path file : ProjectTree.files()) {
      files.add(file.getFileName().toString());
    }
    List<String> missing = new ArrayList<>();
    for (Quote quote : quotes(Page.all().stream().filter(SourceNamesTest::isAboutCode).toList())) {
      if (C_FILE.matcher(quote.text()).matches() && !files.contains(quote.text())) {
        missing.add(quote.toString());
      }
    }
    assertThat(missing).isEmpty();
  }

  private record Quote(String place, String text) {
    @Override
    public String toString() {
      return place + ": " + text;
    }
  }

  private static boolean isAboutCode(Page page) {
    return page.path().startsWith("docs/design") || ABOUT_CODE.contains(page.path());
  }

  private static List<Quote> quotes(List<Page> pages) {
    List<Quote> quotes = new ArrayList<>();
    for (Page page : pages) {
      for (Line line : page.lines(Kind.PROSE, Kind.TABLE, Kind.HEADING)) {
        QUOTED
            .matcher(line.text())
            .results()
            .forEach(found -> quotes.add(new Quote(page.place(line), found.group(1))));
      }
    }
    return quotes;
  }
}
