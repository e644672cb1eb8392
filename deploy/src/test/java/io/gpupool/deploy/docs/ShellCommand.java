// SPDX-License-Identifier: Apache-2.0
package io.gpupool.deploy.docs;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * A simple command of a shell.
 *
 * @param words its words without quotes, of which {@code $(...)} is one
 */
record ShellCommand(List<String> words) {
  /** A word, a nested command with at most one level of parentheses inside, or a separator. */
  private static final Pattern TOKEN =
      Pattern.compile(
          "\\s+#.*|(?<word>(?:'[^']*'|\"(?:\\$\\((?:[^()]|\\([^()]*\\))*\\)|[^\"])*\""
              + "|\\$\\((?:[^()]|\\([^()]*\\))*\\)|[^\\s'\"|;&<>()]|\\((?!\\s))+)"
              + "|(?<redirect>[<>]+\\s*\\S+)|(?<end>[|;&]+)");

  private static final Pattern QUOTED = Pattern.compile("'([^']*)'|\"([^\"]*)\"");
  private static final Pattern NESTED = Pattern.compile("\\$\\(((?:[^()]|\\([^()]*\\))*)\\)");
  private static final Pattern ASSIGNMENT = Pattern.compile("[A-Za-z_]+=.*");

  ShellCommand {
    words = List.copyOf(words);
  }

  /** Returns the commands of a line, those in {@code $(...)} included. */
  static List<ShellCommand> all(String line) {
    List<ShellCommand> commands = new ArrayList<>();
    NESTED.matcher(line).results().forEach(found -> commands.addAll(all(found.group(1))));
    List<String> words = new ArrayList<>();
    Matcher tokens = TOKEN.matcher(line);
    while (tokens.find()) {
      String word = tokens.group("word");
      if (word != null && !(words.isEmpty() && ASSIGNMENT.matcher(word).matches())) {
        words.add(QUOTED.matcher(word).replaceAll("$1$2"));
      } else if (tokens.group("end") != null) {
        addIfAny(commands, words);
        words.clear();
      }
    }
    addIfAny(commands, words);
    return commands;
  }

  private static void addIfAny(List<ShellCommand> commands, List<String> words) {
    if (!words.isEmpty()) {
      commands.add(new ShellCommand(words));
    }
  }

  String program() {
    return words.getFirst();
  }

  /** Returns whether a word stands for what the reader puts in its place. */
  static boolean isPlaceholder(String word) {
    return word.matches("[A-Z]+|…|\\.\\.\\.|.*\\$.*");
  }

  /**
   * Sorts the words after the program.
   *
   * @param flags options without a value
   * @param valued options with one
   * @throws IllegalArgumentException if an option is none of these
   */
  Arguments arguments(Set<String> flags, Set<String> valued) {
    Arguments arguments = new Arguments(new ArrayList<>(), new HashMap<>(), new ArrayList<>());
    for (int i = 1; i < words.size(); i++) {
      String word = words.get(i);
      String name = word.startsWith("--") ? word.replaceFirst("=.*", "") : word;
      if (word.equals("--")) {
        arguments.rest.addAll(words.subList(i + 1, words.size()));
        break;
      }
      if (!word.startsWith("-") || word.equals("-")) {
        arguments.positional.add(word);
      } else if (valued.contains(name)) {
        boolean isJoined = !name.equals(word);
        String value =
            isJoined
                ? word.substring(name.length() + 1)
                : i + 1 < words.size() ? words.get(++i) : "…";
        arguments.options.computeIfAbsent(name, key -> new ArrayList<>()).add(value);
      } else if (!flags.contains(word)) {
        throw new IllegalArgumentException("unknown option " + word);
      }
    }
    return arguments;
  }

  /**
   * The words of a command by their roles.
   *
   * @param rest those after {@code --}
   */
  record Arguments(List<String> positional, Map<String, List<String>> options, List<String> rest) {
    /** Returns the values of an option, under any of its names. */
    List<String> values(String... names) {
      List<String> values = new ArrayList<>();
      for (String name : names) {
        values.addAll(options.getOrDefault(name, List.of()));
      }
      return values;
    }

    /** Returns a positional word; a placeholder where the command is cut short. */
    String word(int index) {
      return index < positional.size() ? positional.get(index) : "…";
    }
  }
}
