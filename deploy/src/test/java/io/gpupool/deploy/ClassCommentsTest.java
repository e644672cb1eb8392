// SPDX-License-Identifier: Apache-2.0
package io.gpupool.deploy;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** The rule that a class comment begins with a noun that says what the class is. */
class ClassCommentsTest {
  /** First words of comments that say what a class does, or that begin a clause. */
  private static final Set<String> FORBIDDEN =
      Set.of(
          "Answers",
          "As",
          "Asks",
          "Assigns",
          "Builds",
          "Chooses",
          "Collects",
          "Decides",
          "Does",
          "Emits",
          "Ends",
          "Every",
          "Everything",
          "Finds",
          "Formats",
          "From",
          "Gathers",
          "Generates",
          "Gives",
          "Has",
          "How",
          "However",
          "If",
          "Joins",
          "Keeps",
          "Lets",
          "Makes",
          "Nothing",
          "Owns",
          "Parses",
          "Says",
          "Schedules",
          "Sends",
          "Somebody",
          "Something",
          "Splits",
          "Starts",
          "Takes",
          "Tells",
          "That",
          "Turns",
          "Unwinds",
          "What",
          "Whatever",
          "When",
          "Where",
          "Whether",
          "Which",
          "Who",
          "Whoever",
          "Whom",
          "Whose",
          "Why");

  private static final Pattern COMMENT =
      Pattern.compile(
          "/\\*\\*((?:(?!\\*/).)*)\\*/\\s*(?:@\\w+(?:\\([^)]*\\))?\\s*)*"
              + "(?:(?:public|final|abstract|sealed|non-sealed) )*"
              + "(?:class|record|interface|enum|@interface) ",
          Pattern.DOTALL);

  private record Offence(Path file, String firstWord) {}

  @Test
  void comments_ofMainClasses_beginWithANoun() throws IOException {
    assertThat(offences())
        .as("say first what the class is: \"A queue of ...\", \"The parser of ...\"")
        .isEmpty();
  }

  @ParameterizedTest
  @CsvSource({
    "/** What a lease is. */ final class A {, What",
    "/** Emits code. */ @Tag(1) public sealed interface B {, Emits",
    "'/** A queue. */ record C() {', A",
    "'/**\n * The parser of units.\n */\npublic final class D {', The"
  })
  void firstWord_ofAComment_isFound(String source, String word) {
    assertThat(firstWord(source)).contains(word);
  }

  private static List<Offence> offences() throws IOException {
    List<Offence> found = new ArrayList<>();
    for (Path path : ProjectTree.files()) {
      if (path.toString().contains("src/main/java/")
          && path.toString().endsWith(".java")
          && !path.endsWith("package-info.java")) {
        String source = Files.readString(ProjectTree.ROOT.resolve(path));
        firstWord(source)
            .filter(FORBIDDEN::contains)
            .ifPresent(word -> found.add(new Offence(path, word)));
      }
    }
    return found;
  }

  /** The first word of the comment of the first type in a source file. */
  private static Optional<String> firstWord(String source) {
    Matcher comment = COMMENT.matcher(source);
    return comment.find()
        ? Optional.of(comment.group(1).replaceAll("^[\\s*]+", "").split("[\\s,.:;]", 2)[0])
        : Optional.empty();
  }
}
