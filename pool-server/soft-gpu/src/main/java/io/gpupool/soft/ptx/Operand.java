// SPDX-License-Identifier: Apache-2.0
package io.gpupool.soft.ptx;

import java.util.List;

/** An instruction's operand, names resolved. */
public sealed interface Operand {
  /** A register. */
  record Reg(Register register) implements Operand {}

  /** The complement of a predicate register. */
  record Not(Register register) implements Operand {}

  /**
   * Bytes or halves of a register, for video instructions.
   *
   * @param selector as written: {@code b} or {@code h}, then the numbers of the parts
   */
  record Part(Register register, String selector) implements Operand {}

  /** An integer constant. */
  record Int(long value) implements Operand {}

  /**
   * A floating constant.
   *
   * @param single whether {@code bits} are those of a 32-bit value, else of a 64-bit one
   */
  record Real(boolean single, long bits) implements Operand {
    /** Bits of the constant as a 32-bit value. */
    public int singleBits() {
      return single ? (int) bits : Float.floatToRawIntBits((float) Double.longBitsToDouble(bits));
    }

    /** Bits of the constant as a 64-bit value. */
    public long doubleBits() {
      return single ? Double.doubleToRawLongBits(Float.intBitsToFloat((int) bits)) : bits;
    }
  }

  /** A special register such as {@code %tid.x}. */
  record Special(String name) implements Operand {}

  /** Address of a variable plus a byte offset. */
  record Address(Variable variable, long offset) implements Operand {}

  /** Address of a function. */
  record FunctionAddress(String name) implements Operand {}

  /** A place in the body, a list of places, or a prototype. */
  record Target(Label label) implements Operand {}

  /** {@code {a, b, ...}}, or a parenthesised list of a call. */
  record Vector(List<Operand> elements) implements Operand {}

  /** {@code [base + offset]}; base is a register, a variable's address or a constant. */
  record Memory(Operand base, long offset) implements Operand {}

  /** {@code first|second}: two results. */
  record Pair(Operand first, Operand second) implements Operand {}

  /** {@code _}: a result that is not wanted, or an absent operand. */
  record Sink() implements Operand {}
}
