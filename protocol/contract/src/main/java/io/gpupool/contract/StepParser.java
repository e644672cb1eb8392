// SPDX-License-Identifier: Apache-2.0
package io.gpupool.contract;

import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** A reader of the steps of an entry point; the grammar is in the README beside the description. */
final class StepParser {
  private static final Pattern NEED = Pattern.compile("need (.*?)(?: else (\\w+))?");
  private static final Pattern FIND =
      Pattern.compile("find ([a-z -]+?)(?: of (\\(.*\\)|\\S+))?(?: as (\\w+))?");
  private static final Pattern GIVE = Pattern.compile("give (\\w+)(\\?)? = (.*)");
  private static final Pattern ASSIGN = Pattern.compile("set (\\S+) = (.*)");
  private static final Pattern SEND = Pattern.compile("send (\\w+)\\((.*)\\)(?: to (\\S+))?");
  private static final Pattern DROP = Pattern.compile("drop (\\w+) of (\\w+)");
  private static final Pattern CALL = Pattern.compile("(call|do|run) (\\w+)(?:\\((.*)\\))?");
  private static final Pattern ANSWER = Pattern.compile("answer (\\w+)");

  private static final Pattern RANGE = Pattern.compile("(\\S+) in (\\S*)\\.\\.(\\S*)");
  private static final Pattern WITHIN = Pattern.compile("(\\S+) within (\\S+)");
  private static final Pattern EITHER = Pattern.compile("(\\S+) or (\\S+)");
  private static final Pattern BELOW = Pattern.compile("(\\S+) < (\\S+)");
  private static final Pattern EQUAL = Pattern.compile("(\\S+) = (\\S+)");
  private static final Pattern PLACE = Pattern.compile("\\*?[\\w>.-]+");

  private final Map<String, Finder> finders;

  StepParser(Map<String, Finder> finders) {
    this.finders = finders;
  }

  /**
   * Returns the steps of a line, which semicolons part.
   *
   * @throws IllegalArgumentException if one is none
   */
  List<Step> parse(String line, List<Parameter> parameters) {
    List<Step> steps = new ArrayList<>();
    for (String text : line.split(";")) {
      steps.add(step(text.strip(), parameters));
    }
    return steps;
  }

  private Step step(String text, List<Parameter> parameters) {
    Matcher need = NEED.matcher(text);
    if (need.matches()) {
      List<String> conditions =
          CommaList.split(need.group(1)).stream().map(StepParser::failure).toList();
      return new Step.Need(conditions, need.group(2) == null ? "INVALID_VALUE" : need.group(2));
    }
    Matcher find = FIND.matcher(text);
    if (find.matches()) {
      return find(find);
    }
    Matcher give = GIVE.matcher(text);
    if (give.matches()) {
      if (parameters.stream().noneMatch(p -> p.name().equals(give.group(1)) && p.isPointer())) {
        throw new IllegalArgumentException("no pointer of that name: " + text);
      }
      return new Step.Give(give.group(1), give.group(2) != null, give.group(3));
    }
    Matcher assign = ASSIGN.matcher(text);
    if (assign.matches()) {
      return new Step.Assign(assign.group(1), assign.group(2));
    }
    Matcher send = SEND.matcher(text);
    if (send.matches()) {
      String context = send.group(3) == null ? "context" : send.group(3);
      return new Step.Send(send.group(1), CommaList.split(send.group(2)), context);
    }
    Matcher drop = DROP.matcher(text);
    if (drop.matches()) {
      return new Step.Drop(drop.group(1), drop.group(2));
    }
    Matcher call = CALL.matcher(text);
    if (call.matches()) {
      Step.Call.Use use = Step.Call.Use.valueOf(call.group(1).toUpperCase(Locale.ROOT));
      List<String> arguments =
          call.group(3) == null
              ? parameters.stream().map(Parameter::name).toList()
              : CommaList.split(call.group(3));
      return new Step.Call(use, call.group(2), arguments);
    }
    Matcher answer = ANSWER.matcher(text);
    if (answer.matches()) {
      return new Step.Answer(answer.group(1));
    }
    throw new IllegalArgumentException("not a step: " + text);
  }

  private Step find(Matcher find) {
    String name = find.group(1) + (find.group(2) == null ? "" : " of");
    Finder finder = finders.get(name);
    if (finder == null) {
      throw new IllegalArgumentException("nothing is found by: find " + name);
    }
    String given = find.group(2) == null ? null : find.group(2).replaceFirst("^\\((.*)\\)$", "$1");
    return new Step.Find(finder, given, find.group(3));
  }

  /** Returns the condition in C under which a need is not met. */
  private static String failure(String need) {
    Matcher range = RANGE.matcher(need);
    if (range.matches()) {
      List<String> outside = new ArrayList<>();
      if (!range.group(2).isEmpty()) {
        outside.add(range.group(1) + " < " + range.group(2));
      }
      if (!range.group(3).isEmpty()) {
        outside.add(range.group(1) + " > " + range.group(3));
      }
      return String.join(" || ", outside);
    }
    Matcher within = WITHIN.matcher(need);
    if (within.matches()) {
      return "%s & ~(unsigned int)%s".formatted(within.group(1), within.group(2));
    }
    Matcher either = EITHER.matcher(need);
    if (either.matches()) {
      return "(!%s && !%s)".formatted(either.group(1), either.group(2));
    }
    Matcher below = BELOW.matcher(need);
    if (below.matches()) {
      return "%s >= %s".formatted(below.group(1), below.group(2));
    }
    Matcher equal = EQUAL.matcher(need);
    if (equal.matches()) {
      return equal.group(2).matches("0|NULL")
          ? equal.group(1)
          : "%s != %s".formatted(equal.group(1), equal.group(2));
    }
    if (!PLACE.matcher(need).matches()) {
      throw new IllegalArgumentException("not a need: " + need);
    }
    return "!" + need;
  }
}
