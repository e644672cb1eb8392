// SPDX-License-Identifier: Apache-2.0
package io.gpupool.soft.compile.ir;

import io.gpupool.soft.ptx.Operand;
import java.util.List;

/** An argument of an operation; all names have become registers or numbers. */
public sealed interface Value
    permits VReg,
        Value.Int,
        Value.Real,
        Value.Not,
        Value.Special,
        Value.LocalAddress,
        Value.Memory,
        Value.Vector {
  /** An integer constant, or an address in its own space. */
  record Int(long value) implements Value {}

  record Real(Operand.Real constant) implements Value {}

  /** The complement of a predicate. */
  record Not(VReg register) implements Value {}

  record Special(String name) implements Value {}

  /** An address in the local memory of the running activation of a function. */
  record LocalAddress(long offset) implements Value {}

  /** {@code [base + offset]}. */
  record Memory(Value base, long offset) implements Value {}

  record Vector(List<Value> elements) implements Value {}
}
