// SPDX-License-Identifier: Apache-2.0
package io.gpupool.deploy.docs;

import static org.assertj.core.api.Assertions.assertThat;

import io.gpupool.command.GpupoolCommand;
import io.gpupool.deploy.docs.Page.Kind;
import io.gpupool.deploy.docs.Page.Line;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.regex.MatchResult;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;
import picocli.CommandLine;
import picocli.CommandLine.ParameterException;

/** Commands in the documents, as the command line reads them. */
class CommandsTest {
  private static final Pattern IN_BLOCK = Pattern.compile("(?:\\$ |sudo )?(gpupool(?: .*)?)");
  private static final Pattern INLINE = Pattern.compile("`(gpupool(?: [^`]*)?)`");
  private static final Pattern OPTION = Pattern.compile("`(--[a-z][\\w-]*)[^`]*`");

  /** Options of other programs, ours and others', that the documents name. */
  private static final Set<String> FOREIGN_OPTIONS =
      Set.of(
          "--auto-compaction-retention",
          "--build-arg",
          "--cap-add",
          "--default-stream",
          "--dry-run",
          "--gpu-architecture",
          "--late",
          "--root",
          "--security-opt",
          "--set",
          "--shares",
          "--undivided");

  private static final Pattern WORD = Pattern.compile("'([^']*)'|\"([^\"]*)\"|(\\S+)");

  @Test
  void commands_inCodeBlocks_areAccepted() throws IOException {
    List<String> wrong = new ArrayList<>();
    int count = 0;
    for (Page page : written()) {
      for (Command command : inBlocks(page)) {
        count++;
        problem(command.text()).ifPresent(text -> wrong.add(command.place() + ": " + text));
      }
    }
    assertThat(wrong).isEmpty();
    assertThat(count).isGreaterThan(60);
  }

  @Test
  void commands_inRunningText_existWithTheirOptions() throws IOException {
    List<String> wrong = new ArrayList<>();
    for (Page page : Page.all()) {
      for (Line line : page.lines(Kind.PROSE, Kind.TABLE, Kind.HEADING)) {
        INLINE
            .matcher(line.text())
            .results()
            .map(found -> found.group(1))
            .forEach(text ->
                unknownWord(text).ifPresent(word -> wrong.add(page.place(line) + ": " + word)));
      }
    }
    assertThat(wrong).isEmpty();
  }

  @Test
  void options_inRunningText_areThoseOfSomeCommand() throws IOException {
    Set<String> known = new HashSet<>(FOREIGN_OPTIONS);
    collectOptions(GpupoolCommand.commandLine(), known);
    List<String> wrong = new ArrayList<>();
    for (Page page : written()) {
      for (Line line : page.lines(Kind.PROSE, Kind.TABLE, Kind.HEADING)) {
        OPTION
            .matcher(line.text())
            .results()
            .map(found -> found.group(1))
            .filter(option -> !known.contains(option))
            .forEach(option -> wrong.add(page.place(line) + ": " + option));
      }
    }
    assertThat(wrong).isEmpty();
    assertThat(known).contains("--sandbox").doesNotContain("--nothing");
  }

  @Test
  void command_withAnUnknownOption_isFound() {
    Page page = Page.of(Path.of("x.md"), "```\n$ gpupool top --nothing\n```\n");
    assertThat(inBlocks(page)).hasSize(1);
    assertThat(problem(inBlocks(page).getFirst().text())).isPresent();
    assertThat(unknownWord("gpupool lease explode L1")).contains("gpupool lease explode");
    assertThat(unknownWord("gpupool run --nothing")).contains("gpupool run --nothing");
  }

  private record Command(String place, String text) {}

  private static void collectOptions(CommandLine line, Set<String> names) {
    line.getCommandSpec().options().forEach(option -> names.addAll(List.of(option.names())));
    line.getSubcommands().values().forEach(sub -> collectOptions(sub, names));
  }

  private static List<Page> written() throws IOException {
    return Page.all().stream().filter(page -> !page.isGenerated()).toList();
  }

  private static List<Command> inBlocks(Page page) {
    List<Command> commands = new ArrayList<>();
    StringBuilder text = new StringBuilder();
    for (Line line : page.lines(Kind.CODE)) {
      text.append(line.text().strip());
      if (text.toString().endsWith("\\")) {
        text.setLength(text.length() - 1);
        continue;
      }
      MatchResult found = IN_BLOCK.matcher(text).results().findFirst().orElse(null);
      // A server's first words begin with the name of its command, too.
      if (found != null
          && found.start() == 0
          && !text.toString().contains(" ready: ")
          && !found.group(1).startsWith("gpupool/")) {
        commands.add(new Command(page.place(line), found.group(1)));
      }
      text.setLength(0);
    }
    return commands;
  }

  private static Optional<String> problem(String command) {
    return problem(words(command.replaceFirst(" +#.*| &$", "").replaceFirst(" [|&].*", "")));
  }

  /** Returns why the command line refuses these words, of which the first is its name. */
  static Optional<String> problem(List<String> words) {
    try {
      GpupoolCommand.commandLine().parseArgs(words.subList(1, words.size()).toArray(String[]::new));
      return Optional.empty();
    } catch (ParameterException e) {
      return Optional.of(String.join(" ", words) + ": " + e.getMessage());
    }
  }

  /** Returns the first word of a command, which may be cut short, that the command line lacks. */
  private static Optional<String> unknownWord(String text) {
    CommandLine line = GpupoolCommand.commandLine();
    String path = "gpupool";
    boolean inPath = true;
    for (String word : words(text).stream().skip(1).toList()) {
      if (word.equals("--") || word.startsWith("…")) {
        break;
      }
      if (word.startsWith("-")) {
        String name = word.replaceFirst("=.*", "").replaceFirst("[,;]$", "");
        if (line.getCommandSpec().findOption(name) == null) {
          return Optional.of(path + " " + word);
        }
        inPath = false;
      } else if (inPath && !line.getSubcommands().isEmpty()) {
        if (!line.getSubcommands().containsKey(word)) {
          return Optional.of(path + " " + word);
        }
        line = line.getSubcommands().get(word);
        path += " " + word;
      }
    }
    return Optional.empty();
  }

  private static List<String> words(String command) {
    return WORD.matcher(command)
        .results()
        .map(found ->
            found.group(1) != null
                ? found.group(1)
                : found.group(2) != null ? found.group(2) : found.group(3))
        .toList();
  }
}
