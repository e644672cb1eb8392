// SPDX-License-Identifier: Apache-2.0
package io.gpupool.soft.ptx.instruction;

import java.util.ArrayList;
import java.util.List;

/**
 * The modifiers that old PTX leaves out. Up to version 1.3 nothing says how a quotient, a root or a
 * transcendental function is computed; up to 3.1 {@code mad.f32} may lack its rounding; and for
 * targets before {@code sm_20} all single-precision arithmetic flushes subnormal numbers. The
 * parser writes out what is missing, so that nothing behind it knows of old versions. Source: the
 * sections "PTX ISA Notes" and "Target ISA Notes" of the instructions.
 */
public final class LegacyForms {
  /**
   * A form without a modifier that newer versions ask for.
   *
   * @param lastVersion the last version of PTX that has it, 10 * major + minor
   * @param added what it means besides what it says
   */
  record Form(String opcode, String type, int lastVersion, List<String> added) {}

  /** The first target that keeps subnormal numbers of single precision. */
  public static final int FIRST_WITH_SUBNORMALS = 20;

  /** The last version that may leave a modifier out. */
  public static final int LAST_VERSION = 31;

  private static final List<String> APPROXIMATE = List.of("approx", "ftz");
  private static final List<String> NEAREST = List.of("rn");

  static final List<Form> ALL =
      List.of(
          new Form("div", "f32", 13, APPROXIMATE),
          new Form("rcp", "f32", 13, APPROXIMATE),
          new Form("sqrt", "f32", 13, APPROXIMATE),
          new Form("rsqrt", "f32", 13, APPROXIMATE),
          new Form("sin", "f32", 13, APPROXIMATE),
          new Form("cos", "f32", 13, APPROXIMATE),
          new Form("lg2", "f32", 13, APPROXIMATE),
          new Form("ex2", "f32", 13, APPROXIMATE),
          new Form("div", "f64", 13, NEAREST),
          new Form("rcp", "f64", 13, NEAREST),
          new Form("sqrt", "f64", 13, NEAREST),
          new Form("rsqrt", "f64", 13, List.of("approx")),
          new Form("mad", "f64", 13, NEAREST),
          new Form("mad", "f32", LAST_VERSION, NEAREST));

  private LegacyForms() {}

  /** An instruction's modifiers with those that its version and target imply. */
  public static List<String> complete(
      String opcode, List<String> modifiers, int version, int target) {
    List<String> complete = modifiers;
    for (Form form : ALL) {
      if (version <= form.lastVersion
          && form.opcode.equals(opcode)
          && modifiers.contains(form.type)
          && InstructionForms.of(opcode, modifiers).isEmpty()) {
        complete = with(form.added, modifiers);
      }
    }
    boolean flushes = target < FIRST_WITH_SUBNORMALS && modifiers.contains("f32");
    if (flushes && !complete.contains("ftz") && !hasLongOperand(opcode, modifiers, version)) {
      List<String> flushing = with(List.of("ftz"), complete);
      return InstructionForms.of(opcode, flushing).isPresent() ? flushing : complete;
    }
    return complete;
  }

  /** Conversions from and to 64 bits keep subnormal numbers up to version 1.4. */
  private static boolean hasLongOperand(String opcode, List<String> modifiers, int version) {
    return opcode.equals("cvt")
        && version <= 14
        && modifiers.stream().anyMatch(modifier -> modifier.matches("[usf]64"));
  }

  private static List<String> with(List<String> added, List<String> modifiers) {
    List<String> complete = new ArrayList<>(added);
    modifiers.stream().filter(modifier -> !added.contains(modifier)).forEach(complete::add);
    return List.copyOf(complete);
  }
}
