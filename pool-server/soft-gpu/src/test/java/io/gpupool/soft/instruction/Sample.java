// SPDX-License-Identifier: Apache-2.0
package io.gpupool.soft.instruction;

import io.gpupool.soft.ptx.Type;
import io.gpupool.soft.ptx.instruction.InstructionForm;
import io.gpupool.soft.ptx.instruction.InstructionForm.Group;
import java.util.ArrayList;
import java.util.List;

/** One instruction of a form: all its modifiers chosen. */
record Sample(InstructionForm form, List<String> modifiers) {
  /** Up to so many combinations of modifiers are all taken, for each combination of types. */
  private static final int ALL = 24;

  String opcode() {
    return form.opcode();
  }

  boolean has(String modifier) {
    return modifiers.contains(modifier);
  }

  /** The first of some modifiers that is there, or else another one. */
  String oneOf(List<String> some, String otherwise) {
    return some.stream().filter(this::has).findFirst().orElse(otherwise);
  }

  /** The mode of rounding, nearest even if none is named. */
  String rounding() {
    return oneOf(List.of("rz", "rm", "rp", "rna"), "rn");
  }

  List<Type> types() {
    return modifiers.stream().flatMap(name -> Type.named(name).stream()).toList();
  }

  /** The last type. */
  Type type() {
    return types().getLast();
  }

  String text() {
    return String.join(".", opcode(), String.join(".", modifiers)).replaceAll("\\.$", "");
  }

  /**
   * Instructions that between them have every combination of types, and with each of these every
   * modifier; every combination of modifiers too, if they are few.
   */
  static List<Sample> of(InstructionForm form) {
    List<List<String>> options = new ArrayList<>();
    for (Group group : form.groups()) {
      List<String> some = new ArrayList<>(group.alternatives());
      if (group.optional()) {
        some.addFirst("");
      }
      options.add(some);
    }
    List<List<Integer>> typed = new ArrayList<>();
    typed.add(List.of());
    for (int i = 0; i < options.size(); i++) {
      typed = extended(typed, form.groups().get(i).isTypes() ? options.get(i).size() : 1);
    }
    List<Sample> samples = new ArrayList<>();
    for (int k = 0; k < typed.size(); k++) {
      addOfTypes(form, options, typed.get(k), k, samples);
    }
    return samples;
  }

  private static void addOfTypes(
      InstructionForm form,
      List<List<String>> options,
      List<Integer> types,
      int seed,
      List<Sample> samples) {
    int product = 1;
    int most = 1;
    for (int i = 0; i < options.size(); i++) {
      if (!form.groups().get(i).isTypes()) {
        product *= options.get(i).size();
        most = Math.max(most, options.get(i).size());
      }
    }
    boolean all = product <= ALL;
    for (int j = 0; j < (all ? product : most); j++) {
      List<String> modifiers = new ArrayList<>();
      int rest = j;
      for (int i = 0; i < options.size(); i++) {
        List<String> some = options.get(i);
        int choice;
        if (form.groups().get(i).isTypes()) {
          choice = types.get(i);
        } else if (all) {
          choice = rest % some.size();
          rest /= some.size();
        } else {
          choice = (j + seed * (i + 1)) % some.size();
        }
        if (!some.get(choice).isEmpty()) {
          modifiers.add(some.get(choice));
        }
      }
      samples.add(new Sample(form, List.copyOf(modifiers)));
    }
  }

  private static List<List<Integer>> extended(List<List<Integer>> tuples, int count) {
    List<List<Integer>> result = new ArrayList<>();
    for (int choice = 0; choice < count; choice++) {
      for (List<Integer> tuple : tuples) {
        List<Integer> more = new ArrayList<>(tuple);
        more.add(choice);
        result.add(more);
      }
    }
    return result;
  }
}
