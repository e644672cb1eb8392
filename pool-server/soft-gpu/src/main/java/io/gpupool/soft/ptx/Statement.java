// SPDX-License-Identifier: Apache-2.0
package io.gpupool.soft.ptx;

import java.util.List;
import org.jspecify.annotations.Nullable;

/** One element of a function's body, in source order. */
public sealed interface Statement {
  /** The place that a label names. */
  record Mark(Label label) implements Statement {}

  /**
   * An instruction.
   *
   * @param line in the PTX text, from 1
   * @param column of the opcode, from 1
   * @param guard null if it is executed always
   * @param modifiers the words after the opcode, without dots
   */
  record Instruction(
      int line,
      int column,
      @Nullable Guard guard,
      String opcode,
      List<String> modifiers,
      List<Operand> operands)
      implements Statement {

    /** Returns the opcode with its modifiers, as written. */
    public String text() {
      return modifiers.isEmpty() ? opcode : opcode + "." + String.join(".", modifiers);
    }

    /** Returns whether a modifier is present. */
    public boolean has(String modifier) {
      return modifiers.contains(modifier);
    }
  }

  /** {@code @p} or {@code @!p}. */
  record Guard(Register predicate, boolean negated) {}
}
