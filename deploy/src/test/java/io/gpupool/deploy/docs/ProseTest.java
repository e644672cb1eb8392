// SPDX-License-Identifier: Apache-2.0
package io.gpupool.deploy.docs;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import io.gpupool.deploy.docs.Page.Kind;
import io.gpupool.deploy.docs.Page.Line;
import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** A linter of the documents' English; prose-rules.txt has its rules. */
class ProseTest {
  private static final int MAX_WORDS = 45;
  private static final Pattern LINK = Pattern.compile("\\]\\([^)]*\\)");

  /**
   * A rule.
   *
   * @param fault a sentence that breaks it
   */
  record Rule(Pattern pattern, String advice, String fault) {
    static Rule of(String line) {
      String[] parts = line.split(" \\| ");
      assertThat(parts).as(line).hasSize(3);
      return new Rule(
          Pattern.compile(parts[0].strip(), Pattern.CASE_INSENSITIVE), parts[1], parts[2]);
    }

    boolean isBrokenBy(String text) {
      return pattern.matcher(text).find();
    }
  }

  @Test
  void prose_ofAllPages_isPlainEnglish() throws IOException {
    List<Rule> rules = rules();
    List<String> problems = new ArrayList<>();
    for (Page page : Page.all()) {
      if (!page.isGenerated()) {
        problems.addAll(problems(page, rules));
      }
    }
    assertThat(problems).isEmpty();
  }

  @ParameterizedTest
  @MethodSource("rules")
  void rule_everyOne_findsTheFaultThatItNames(Rule rule) {
    assertThat(rule.isBrokenBy(rule.fault())).as(rule.fault()).isTrue();
  }

  @Test
  void fault_inAPage_isFoundWithItsLineAndAdvice() throws IOException {
    Page page = Page.of(Path.of("x.md"), "# Fine\n\n`heed` is code.\nServers heed the endings.\n");
    assertThat(problems(page, rules()))
        .containsExactly("x.md:4: \"heed\": say \"follow\" or \"apply\"");
  }

  @Test
  void sentence_ofTooManyWords_isFound() throws IOException {
    Page page = Page.of(Path.of("x.md"), "word ".repeat(MAX_WORDS + 1).strip() + ".");
    assertThat(problems(page, rules())).containsExactly("x.md:1: 46 words in a sentence");
  }

  private static List<String> problems(Page page, List<Rule> rules) {
    List<String> problems = new ArrayList<>();
    for (Line line : page.lines(Kind.PROSE, Kind.TABLE)) {
      String text = LINK.matcher(line.withoutCode()).replaceAll("]").strip();
      for (Rule rule : rules) {
        rule.pattern()
            .matcher(text)
            .results()
            .forEach(found ->
                problems.add(
                    "%s: \"%s\": %s".formatted(page.place(line), found.group(), rule.advice())));
      }
      int words = text.split("\\s+").length;
      if (line.kind() == Kind.PROSE && words > MAX_WORDS) {
        problems.add("%s: %d words in a sentence".formatted(page.place(line), words));
      }
    }
    return problems;
  }

  private static List<Rule> rules() throws IOException {
    try (InputStream file = ProseTest.class.getResourceAsStream("prose-rules.txt")) {
      return new String(Objects.requireNonNull(file).readAllBytes(), UTF_8)
          .lines()
          .filter(line -> !line.isBlank() && !line.startsWith("#"))
          .map(Rule::of)
          .toList();
    }
  }
}
