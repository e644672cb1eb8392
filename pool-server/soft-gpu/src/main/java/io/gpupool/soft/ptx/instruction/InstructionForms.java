// SPDX-License-Identifier: Apache-2.0
package io.gpupool.soft.ptx.instruction;

import io.gpupool.soft.ptx.Statement.Instruction;
import io.gpupool.soft.ptx.instruction.InstructionForm.Group;
import io.gpupool.soft.ptx.instruction.InstructionForm.Status;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ConcurrentHashMap;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * The forms of {@link InstructionTable}, by which the compiler decides what it takes, the
 * instruction test what it runs, and the documentation what it lists.
 */
public final class InstructionForms {
  private static final Pattern GROUP =
      Pattern.compile("(\\[?)\\.(?:\\{([^}]*)\\}|([^.\\[\\]{}]+))(\\]?)");
  private static final Pattern HEADED = Pattern.compile("(refused|elsewhere) \\(([^)]*)\\): (.*)");

  private static final List<InstructionForm> ALL = parse(InstructionTable.TEXT);
  private static final Map<String, List<InstructionForm>> BY_OPCODE = new HashMap<>();
  private static final Map<List<String>, Optional<InstructionForm>> FOUND =
      new ConcurrentHashMap<>();

  static {
    for (InstructionForm form : ALL) {
      BY_OPCODE.computeIfAbsent(form.opcode(), _ -> new ArrayList<>()).add(form);
    }
  }

  private InstructionForms() {}

  /** All forms in the order of the table. */
  public static List<InstructionForm> all() {
    return ALL;
  }

  /** The form of an instruction; one that is executed before one that is refused. */
  public static Optional<InstructionForm> of(Instruction instruction) {
    return of(instruction.opcode(), instruction.modifiers());
  }

  /** As above, by name. */
  public static Optional<InstructionForm> of(String opcode, List<String> modifiers) {
    List<String> key = new ArrayList<>(modifiers.size() + 1);
    key.add(opcode);
    key.addAll(modifiers);
    return FOUND.computeIfAbsent(List.copyOf(key), _ -> find(opcode, modifiers));
  }

  private static Optional<InstructionForm> find(String opcode, List<String> modifiers) {
    InstructionForm refused = null;
    for (InstructionForm form : BY_OPCODE.getOrDefault(opcode, List.of())) {
      if (form.status() == Status.REFUSED) {
        // A refused form names what makes it so; whatever else the instruction has matters not.
        if (refused == null && isLike(form, modifiers)) {
          refused = form;
        }
      } else if (form.matches(modifiers)) {
        return Optional.of(form);
      }
    }
    return Optional.ofNullable(refused);
  }

  private static boolean isLike(InstructionForm refused, List<String> modifiers) {
    return refused.groups().stream()
        .allMatch(group -> group.alternatives().stream().anyMatch(modifiers::contains));
  }

  private static List<InstructionForm> parse(String text) {
    List<InstructionForm> forms = new ArrayList<>();
    Map<String, String> sets = new HashMap<>();
    String family = "";
    for (String line : text.lines().map(String::strip).toList()) {
      Matcher headed = HEADED.matcher(line);
      if (line.startsWith("## ")) {
        family = line.substring(3);
      } else if (line.startsWith("$")) {
        int equals = line.indexOf('=');
        sets.put(
            line.substring(0, equals).strip(), replaced(line.substring(equals + 1).strip(), sets));
      } else if (headed.matches()) {
        Status status =
            headed.group(1).equals("refused") ? Status.REFUSED : Status.TESTED_ELSEWHERE;
        add(forms, family, status, headed.group(2), replaced(headed.group(3), sets));
      } else if (line.startsWith("no effect: ")) {
        String patterns = replaced(line.substring("no effect: ".length()), sets);
        add(forms, family, Status.NO_EFFECT, "", patterns);
      } else if (!line.isEmpty()) {
        add(forms, family, Status.EXECUTED, "", replaced(line, sets));
      }
    }
    return List.copyOf(forms);
  }

  private static String replaced(String text, Map<String, String> sets) {
    return Pattern.compile("\\$[a-z0-9]+")
        .matcher(text)
        .replaceAll(match -> {
          String set = sets.get(match.group());
          if (set == null) {
            throw new IllegalStateException("the instruction table lacks " + match.group());
          }
          return Matcher.quoteReplacement(set);
        });
  }

  private static void add(
      List<InstructionForm> forms, String family, Status status, String note, String patterns) {
    for (String pattern : patterns.split(" +")) {
      int start = 0;
      while (start < pattern.length() && ".[".indexOf(pattern.charAt(start)) < 0) {
        start++;
      }
      List<Group> groups = new ArrayList<>();
      Matcher group = GROUP.matcher(pattern).region(start, pattern.length());
      int end = start;
      while (group.lookingAt()) {
        String some = group.group(2) != null ? group.group(2) : group.group(3);
        groups.add(new Group(List.of(some.split(",")), !group.group(1).isEmpty()));
        end = group.end();
        group.region(end, pattern.length());
      }
      if (end != pattern.length()) {
        throw new IllegalStateException("cannot read '" + pattern + "' in the instruction table");
      }
      String opcode = pattern.substring(0, start);
      forms.add(new InstructionForm(family, status, note, opcode, List.copyOf(groups)));
    }
  }
}
