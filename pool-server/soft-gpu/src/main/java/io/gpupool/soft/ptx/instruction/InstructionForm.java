// SPDX-License-Identifier: Apache-2.0
package io.gpupool.soft.ptx.instruction;

import io.gpupool.soft.ptx.Type;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.stream.Collectors;

/**
 * One form of an instruction: its opcode and what may follow it.
 *
 * @param family heading that it stands under
 * @param note why it is refused, or the test that runs it; empty where there is nothing to say
 */
public record InstructionForm(
    String family, Status status, String note, String opcode, List<Group> groups) {
  /** What the software GPU does with an instruction. */
  public enum Status {
    /** Executed, and run by the instruction test. */
    EXECUTED,
    /** Executed, and run by the test that the note names. */
    TESTED_ELSEWHERE,
    /** A hint that is read and has no effect. */
    NO_EFFECT,
    REFUSED
  }

  /**
   * Modifiers of which at most one is present.
   *
   * @param optional whether it may be none
   */
  public record Group(List<String> alternatives, boolean optional) {
    /** Whether these are types of operands. */
    public boolean isTypes() {
      return !optional && InstructionForm.isType(alternatives.getFirst());
    }

    @Override
    public String toString() {
      String one =
          alternatives.size() == 1
              ? "." + alternatives.getFirst()
              : ".{" + String.join(",", alternatives) + "}";
      return optional ? "[" + one + "]" : one;
    }
  }

  /** Types that only refused instructions know. */
  private static final Set<String> ODD_TYPES =
      Set.of("u2", "s2", "u4", "s4", "e2m1x2", "e2m3x2", "e3m2x2", "ue8m0x2", "e4m3x4", "e5m2x4");

  private static boolean isType(String modifier) {
    return ODD_TYPES.contains(modifier) || Type.named(modifier).isPresent();
  }

  /** Groups of alternative types, in the order of the operands they describe. */
  public List<Group> types() {
    return groups.stream().filter(Group::isTypes).toList();
  }

  /** The form as the documentation shows it, without its types. */
  public String nameWithoutTypes() {
    return opcode
        + groups.stream()
            .filter(group -> !group.isTypes())
            .map(Group::toString)
            .collect(Collectors.joining());
  }

  /** Whether an instruction's modifiers are of this form; only the order of types matters. */
  public boolean matches(List<String> modifiers) {
    return matches(0, new ArrayList<>(modifiers));
  }

  private boolean matches(int index, List<String> rest) {
    if (index == groups.size()) {
      return rest.isEmpty();
    }
    Group group = groups.get(index);
    for (int i = 0; i < rest.size(); i++) {
      String modifier = rest.get(i);
      if (group.alternatives().contains(modifier)) {
        rest.remove(i);
        boolean matches = matches(index + 1, rest);
        rest.add(i, modifier);
        if (matches) {
          return true;
        }
      }
      if (group.isTypes() && isType(modifier)) {
        return false;
      }
    }
    return group.optional() && matches(index + 1, rest);
  }

  @Override
  public String toString() {
    return opcode + groups.stream().map(Group::toString).collect(Collectors.joining());
  }
}
