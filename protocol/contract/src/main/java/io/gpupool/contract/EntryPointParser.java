// SPDX-License-Identifier: Apache-2.0
package io.gpupool.contract;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/** A reader of the entry points of all topics, and of the shim's look-ups that they name. */
final class EntryPointParser {
  private static final Pattern HEAD =
      Pattern.compile("(cu\\w+) (\\d+) (\\w+)((?: [^\"]\\S*)*)(?: \"([^\"]*)\")?((?: \\S+)*)");
  private static final Pattern SPAN = Pattern.compile("device\\(([^)]*)\\) (.*)");
  private static final Pattern NAMED = Pattern.compile("(.*?[\\s*])(\\w+)(\\[\\w*\\])?");
  private static final Pattern FINDER =
      Pattern.compile("([a-z -]+): ([^:]+): (.*?)(?: else (\\w+))?");
  private static final Pattern INCLUDE = Pattern.compile("include \"([\\w/.]+)\"");
  private static final String OUT = "out ";

  /** The lines below an entry point's name are indented. */
  private static final String INDENT = "    ";

  private final Path folder;
  private final Map<String, Finder> finders = new LinkedHashMap<>();
  private final StepParser steps = new StepParser(finders);
  private final Map<String, EntryPoint> entryPoints = new LinkedHashMap<>();
  private final Map<String, List<String>> includes = new LinkedHashMap<>();

  EntryPointParser(Path folder) {
    this.folder = folder;
  }

  void parse() throws IOException {
    readFinders(folder.resolve("finders.txt"));
    try (Stream<Path> files = Files.list(folder)) {
      for (Path file : files.filter(f -> f.toString().endsWith(".contract")).sorted().toList()) {
        readEntryPoints(file);
      }
    }
  }

  /** Returns the entry points in the order of the files. */
  List<EntryPoint> entryPoints() {
    return List.copyOf(entryPoints.values());
  }

  /** Returns the shim's headers that the steps of a topic use, by topic. */
  Map<String, List<String>> includes() {
    return includes;
  }

  private void readFinders(Path file) throws IOException {
    List<String> lines = Files.readAllLines(file);
    for (int i = 0; i < lines.size(); i++) {
      String line = lines.get(i);
      if (line.isBlank() || line.startsWith("#")) {
        continue;
      }
      Matcher finder = FINDER.matcher(line);
      if (!finder.matches()) {
        throw new ContractException(file.toString(), i + 1, "not a look-up: " + line);
      }
      finders.put(
          finder.group(1),
          new Finder(
              finder.group(1), CommaList.split(finder.group(2)), finder.group(3), finder.group(4)));
    }
  }

  private void readEntryPoints(Path file) throws IOException {
    String topic = file.getFileName().toString().replaceFirst("\\.contract$", "");
    List<String> headers = new ArrayList<>();
    List<String> lines = Files.readAllLines(file);
    for (int i = 0; i < lines.size(); i++) {
      String line = lines.get(i);
      if (line.isBlank() || line.startsWith("#")) {
        continue;
      }
      Matcher include = INCLUDE.matcher(line);
      if (include.matches()) {
        headers.add(include.group(1));
        continue;
      }
      Matcher head = HEAD.matcher(line);
      if (!head.matches()) {
        throw new ContractException(file.toString(), i + 1, "not an entry point: " + line);
      }
      int first = i + 1;
      while (i + 1 < lines.size() && lines.get(i + 1).startsWith(INDENT)) {
        i++;
      }
      EntryPoint entryPoint = entryPoint(file, first, head, lines.subList(first, i + 1), topic);
      if (entryPoints.put(entryPoint.symbol(), entryPoint) != null) {
        throw new ContractException(
            file.toString(), first, entryPoint.symbol() + " is declared twice");
      }
    }
    includes.put(topic, List.copyOf(headers));
  }

  private EntryPoint entryPoint(
      Path file, int line, Matcher head, List<String> below, String topic) {
    CallClass callClass;
    try {
      callClass = CallClass.valueOf(head.group(3).toUpperCase(Locale.ROOT));
    } catch (IllegalArgumentException e) {
      throw new ContractException(
          file.toString(), line, head.group(1) + " is in no class: \"" + head.group(3) + "\"");
    }
    Set<String> flags = new LinkedHashSet<>();
    for (String flag : (head.group(4) + head.group(6)).split(" ")) {
      if (!flag.isEmpty()) {
        flags.add(flag);
      }
    }
    boolean auto = flags.remove("auto");
    boolean hand = flags.remove("hand");
    boolean backend = flags.remove("backend");
    String perThread = perThread(flags);
    if (!flags.isEmpty()) {
      throw new ContractException(file.toString(), line, "unknown words: " + flags);
    }
    boolean refused = callClass == CallClass.REFUSED;
    if (refused ? auto || hand || head.group(5) == null : auto == hand) {
      throw new ContractException(
          file.toString(),
          line,
          head.group(1) + " must be one of: auto, hand, refused with a reason");
    }
    List<Parameter> parameters = parameters(file, line, below);
    List<Step> list = steps(file, line, below, parameters);
    boolean marshalled = callClass == CallClass.POSTED || callClass == CallClass.FENCED;
    if (auto ? list.isEmpty() && !marshalled : !list.isEmpty()) {
      throw new ContractException(
          file.toString(), line, head.group(1) + ": steps go with auto, and local auto with steps");
    }
    return new EntryPoint(
        head.group(1),
        Integer.parseInt(head.group(2)),
        callClass,
        new Body(auto, list, head.group(5)),
        backend,
        perThread,
        parameters,
        topic);
  }

  /** Takes the flag of a per-thread variant; returns its suffix. */
  private static @Nullable String perThread(Set<String> flags) {
    if (flags.remove("ptsz")) {
      return "_ptsz";
    }
    return flags.remove("ptds") ? "_ptds" : null;
  }

  private static List<Parameter> parameters(Path file, int line, List<String> below) {
    String text = below.isEmpty() ? "" : below.getFirst().strip();
    if (!text.startsWith("(") || !text.endsWith(")")) {
      throw new ContractException(
          file.toString(), line + 1, "expected the parameters in parentheses");
    }
    List<Parameter> parameters = new ArrayList<>();
    for (String parameter : CommaList.split(text.substring(1, text.length() - 1))) {
      if (!parameter.equals("void")) {
        parameters.add(parameter(file, line + 1, parameter));
      }
    }
    return parameters;
  }

  private List<Step> steps(Path file, int line, List<String> below, List<Parameter> parameters) {
    List<Step> list = new ArrayList<>();
    for (int i = 1; i < below.size(); i++) {
      try {
        list.addAll(steps.parse(below.get(i).strip(), parameters));
      } catch (IllegalArgumentException e) {
        throw new ContractException(file.toString(), line + i + 1, String.valueOf(e.getMessage()));
      }
    }
    return list;
  }

  private static Parameter parameter(Path file, int line, String text) {
    Parameter.Direction direction = Parameter.Direction.VALUE;
    String declaration = text;
    if (text.startsWith(OUT)) {
      direction = Parameter.Direction.OUT;
      declaration = text.substring(OUT.length());
    }
    DeviceSpan span = null;
    Matcher spanned = SPAN.matcher(text);
    if (spanned.matches()) {
      span = DeviceSpan.parse(spanned.group(1));
      declaration = spanned.group(2);
    }
    Matcher named = NAMED.matcher(declaration);
    if (!named.matches()) {
      throw new ContractException(file.toString(), line, "not a parameter: " + text);
    }
    String type = named.group(1).strip() + (named.group(3) == null ? "" : " *");
    return new Parameter(
        direction, declaration, type.replaceAll("\\s+", " "), named.group(2), span);
  }
}
