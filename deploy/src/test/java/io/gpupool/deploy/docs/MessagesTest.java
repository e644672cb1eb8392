// SPDX-License-Identifier: Apache-2.0
package io.gpupool.deploy.docs;

import static org.assertj.core.api.Assertions.assertThat;

import io.gpupool.deploy.ProjectTree;
import io.gpupool.deploy.docs.Page.Kind;
import io.gpupool.deploy.docs.Page.Line;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Set;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

/** Messages that the documents quote, in the code that writes them. */
class MessagesTest {
  private static final Pattern QUOTED = Pattern.compile("`([^`]+)`");

  /** Values in a message: numbers, placeholders, omissions, and the joints of its parts. */
  private static final Pattern VALUES =
      Pattern.compile(
          "\\.\\.\\.|…|'[^']*'|/[\\w/.-]+|gpupool-server-\\d|\\b[A-Z]+\\b|\\b\\d[\\d.]*\\b|[:;()%]");

  /** Where one string ends and the next begins, which the compiler joins. */
  private static final Pattern JOINT = Pattern.compile("\"\\s*\\+?\\s*\"");

  private static final int SHORTEST = 12;

  /** Messages of the operating system. */
  private static final Set<String> FOREIGN =
      Set.of("Permission denied", "No such file or directory");

  private static String code;

  @BeforeAll
  static void readCode() throws IOException {
    StringBuilder text = new StringBuilder();
    for (Path path : ProjectTree.files()) {
      if (path.toString().contains("src/main/") && path.toString().matches(".*\\.(java|c|h)")) {
        text.append(Files.readString(ProjectTree.ROOT.resolve(path), StandardCharsets.ISO_8859_1));
      }
    }
    code = JOINT.matcher(text).replaceAll("");
  }

  @Test
  void messages_inTables_areInTheCode() throws IOException {
    List<String> missing = new ArrayList<>();
    int count = 0;
    for (Page page : Page.all()) {
      for (String message : messages(page)) {
        count++;
        parts(message)
            .filter(part -> !code.contains(part) && !FOREIGN.contains(part))
            .forEach(part -> missing.add(page.path() + ": " + part));
      }
    }
    assertThat(missing).isEmpty();
    assertThat(count).isGreaterThan(20);
  }

  @Test
  void message_thatNoCodeWrites_isFound() {
    Page page =
        Page.of(Path.of("x.md"), "| message | do |\n|---|---|\n| `this is nowhere: N` | x |");
    assertThat(messages(page)).containsExactly("this is nowhere: N");
    assertThat(parts(messages(page).getFirst())).containsExactly("this is nowhere");
    assertThat(code).doesNotContain("this is nowhere");
  }

  private static Stream<String> parts(String message) {
    return Arrays.stream(VALUES.split(message))
        .map(String::strip)
        .filter(part -> part.length() >= SHORTEST);
  }

  /** The quotes in columns of tables that are headed "message". */
  private static List<String> messages(Page page) {
    List<String> messages = new ArrayList<>();
    int column = -1;
    int previous = -1;
    for (Line line : page.lines(Kind.TABLE)) {
      String[] cells = line.text().split("(?<!\\\\)\\|");
      if (line.number() != previous + 1) {
        column = -1;
        for (int i = 0; i < cells.length; i++) {
          column = cells[i].strip().startsWith("message") ? i : column;
        }
      } else if (column >= 0 && column < cells.length) {
        QUOTED.matcher(cells[column]).results().forEach(found -> messages.add(found.group(1)));
      }
      previous = line.number();
    }
    return messages;
  }
}
