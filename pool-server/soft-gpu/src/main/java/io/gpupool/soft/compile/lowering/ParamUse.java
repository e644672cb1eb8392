// SPDX-License-Identifier: Apache-2.0
package io.gpupool.soft.compile.lowering;

import io.gpupool.soft.compile.ir.RefusedException;
import io.gpupool.soft.ptx.Operand;
import io.gpupool.soft.ptx.Statement.Instruction;
import io.gpupool.soft.ptx.Type;
import io.gpupool.soft.ptx.Variable;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/**
 * The accesses to a variable of a call's parameter space: if always by name and never by
 * overlapping pieces of different widths, each piece can live in a register.
 */
final class ParamUse {
  private final TreeMap<Long, Integer> pieces = new TreeMap<>();
  private boolean needsMemory;

  /** Byte offset and width of each piece. */
  TreeMap<Long, Integer> pieces() {
    return pieces;
  }

  boolean needsMemory() {
    if (needsMemory) {
      return true;
    }
    long end = Long.MIN_VALUE;
    for (Map.Entry<Long, Integer> piece : pieces.entrySet()) {
      if (piece.getKey() < end) {
        return true;
      }
      end = piece.getKey() + piece.getValue();
    }
    return false;
  }

  void escape() {
    needsMemory = true;
  }

  void add(long offset, int width) {
    Integer before = pieces.putIfAbsent(offset, width);
    if (before != null && before != width) {
      needsMemory = true;
    }
  }

  void addAll(ParamUse other) {
    needsMemory |= other.needsMemory;
    other.pieces.forEach(this::add);
  }

  /** Adds the uses that one instruction, not a call, makes of parameter variables. */
  static void collect(Instruction instruction, Map<Variable, ParamUse> uses) {
    boolean access = instruction.opcode().equals("ld") || instruction.opcode().equals("st");
    for (Operand operand : instruction.operands()) {
      if (access && operand instanceof Operand.Memory(Operand.Address address, long offset)) {
        ParamUse use = uses.get(address.variable());
        if (use != null) {
          addAccess(instruction, address.offset() + offset, use);
        }
      } else {
        escapes(operand, uses);
      }
    }
  }

  private static void addAccess(Instruction instruction, long offset, ParamUse use) {
    Type type = null;
    for (String modifier : instruction.modifiers()) {
      type = Type.named(modifier).orElse(type);
    }
    if (type == null) {
      throw new RefusedException(instruction, "has no type");
    }
    List<Operand> operands = instruction.operands();
    Operand data = operands.get(instruction.opcode().equals("ld") ? 0 : 1);
    int count = data instanceof Operand.Vector vector ? vector.elements().size() : 1;
    for (int i = 0; i < count; i++) {
      use.add(offset + (long) i * type.bytes(), type.bytes());
    }
  }

  private static void escapes(Operand operand, Map<Variable, ParamUse> uses) {
    switch (operand) {
      case Operand.Address address -> {
        ParamUse use = uses.get(address.variable());
        if (use != null) {
          use.escape();
        }
      }
      case Operand.Memory memory -> escapes(memory.base(), uses);
      case Operand.Vector vector -> vector.elements().forEach(element -> escapes(element, uses));
      case Operand.Pair _,
          Operand.Reg _,
          Operand.Part _,
          Operand.Not _,
          Operand.Int _,
          Operand.Real _,
          Operand.Special _,
          Operand.FunctionAddress _,
          Operand.Target _,
          Operand.Sink _ -> {}
    }
  }
}
