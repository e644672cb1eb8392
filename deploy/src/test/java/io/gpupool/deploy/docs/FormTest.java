// SPDX-License-Identifier: Apache-2.0
package io.gpupool.deploy.docs;

import static org.assertj.core.api.Assertions.assertThat;

import io.gpupool.deploy.docs.Page.Kind;
import io.gpupool.deploy.docs.Page.Line;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;

/** The form of the documents: one sentence a line, so that a diff shows which sentence changed. */
class FormTest {
  private static final int MAX_CELL = 120;
  private static final Pattern CELL_END = Pattern.compile("(?<!\\\\)\\|");

  /** A table of all PTX instructions, which a test compares with the compiler's. */
  private static final Set<Path> WIDE_TABLES =
      Set.of(Path.of("docs/design/soft-gpu-memory-safety.md"));

  private static final Pattern SENTENCE_END =
      Pattern.compile("(?<=[.!?])[\"')\\]*]* +(?=[A-Z0-9`\"'(\\[*$<])");
  private static final Pattern ABBREVIATION = Pattern.compile(".*\\b(e\\.g|i\\.e|vs|cf|etc)\\.");
  private static final Pattern ITEM = Pattern.compile("\\s*([-*]|\\d+\\.) .*");
  private static final Pattern ENDS = Pattern.compile(".*[.!?:;…][\"')\\]*`]*(\\\\| {2})?");

  @Test
  void prose_ofAllPages_hasOneSentenceALine() throws IOException {
    List<String> wrong = new ArrayList<>();
    for (Page page : Page.all()) {
      if (!page.isGenerated()) {
        wrong.addAll(problems(page));
      }
    }
    assertThat(wrong).isEmpty();
  }

  @Test
  void tables_ofAllPages_haveShortCells() throws IOException {
    List<String> wrong = new ArrayList<>();
    for (Page page : Page.all()) {
      if (!page.isGenerated() && !WIDE_TABLES.contains(page.path())) {
        wrong.addAll(wideCells(page));
      }
    }
    assertThat(wrong).isEmpty();
  }

  @Test
  void wideCell_isFound() {
    Page page = Page.of(Path.of("x.md"), "| fine | " + "x".repeat(MAX_CELL + 1) + " |\n");
    assertThat(wideCells(page)).containsExactly("x.md:1: 121 characters in a cell");
  }

  @Test
  void readme_isShort() throws IOException {
    assertThat(Page.read(Path.of("README.md")).lines().size()).isLessThanOrEqualTo(90);
  }

  @Test
  void architecture_isShort() throws IOException {
    Page page = Page.read(Path.of("docs/design/architecture.md"));
    long words =
        page.lines().stream().mapToLong(line -> line.text().strip().split("\\s+").length).sum();
    assertThat(words).isLessThanOrEqualTo(2500);
  }

  @Test
  void twoSentences_onALine_areFound() {
    Page page =
        Page.of(Path.of("x.md"), "One. Two.\n\nA sentence that\ngoes on.\n\nFine (e.g. A).");
    assertThat(problems(page))
        .containsExactly("x.md:1: two sentences on a line", "x.md:3: a wrapped sentence");
  }

  private static List<String> wideCells(Page page) {
    List<String> wide = new ArrayList<>();
    for (Line line : page.lines(Kind.TABLE)) {
      for (String cell : CELL_END.split(line.text())) {
        int length = cell.strip().length();
        if (length > MAX_CELL) {
          wide.add("%s: %d characters in a cell".formatted(page.place(line), length));
        }
      }
    }
    return wide;
  }

  private static List<String> problems(Page page) {
    List<String> problems = new ArrayList<>();
    List<Line> lines = page.lines();
    for (int i = 0; i < lines.size(); i++) {
      Line line = lines.get(i);
      if (line.kind() != Kind.PROSE) {
        continue;
      }
      if (hasTwoSentences(line.withoutCode())) {
        problems.add(page.place(line) + ": two sentences on a line");
      }
      boolean followed = i + 1 < lines.size() && lines.get(i + 1).kind() == Kind.PROSE;
      if (followed
          && !ITEM.matcher(lines.get(i + 1).text()).matches()
          && !ENDS.matcher(line.text()).matches()) {
        problems.add(page.place(line) + ": a wrapped sentence");
      }
    }
    return problems;
  }

  private static boolean hasTwoSentences(String text) {
    String line = text.replaceFirst("^\\s*([-*]|\\d+\\.) +", "");
    Matcher end = SENTENCE_END.matcher(line);

    while (end.find()) {
      String head = line.substring(0, end.start());
      // A sentence in parentheses or in a link's text does not end the one around it.
      if (!ABBREVIATION.matcher(head).matches()
          && isClosed(head, '(', ')')
          && isClosed(head, '[', ']')) {
        return true;
      }
    }
    return false;
  }

  private static boolean isClosed(String text, char open, char close) {
    return text.chars().filter(c -> c == open).count()
        <= text.chars().filter(c -> c == close).count();
  }
}
