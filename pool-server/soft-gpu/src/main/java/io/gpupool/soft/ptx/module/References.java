// SPDX-License-Identifier: Apache-2.0
package io.gpupool.soft.ptx.module;

import io.gpupool.soft.ptx.Function;
import io.gpupool.soft.ptx.Operand;
import io.gpupool.soft.ptx.Statement;
import io.gpupool.soft.ptx.Variable;
import java.util.LinkedHashSet;
import java.util.Set;

/** The variables and functions that instructions name. */
final class References {
  private final Set<Variable> variables = new LinkedHashSet<>();
  private final Set<String> functions = new LinkedHashSet<>();

  Set<Variable> variables() {
    return variables;
  }

  Set<String> functions() {
    return functions;
  }

  void addAll(Function function) {
    for (Statement statement : function.body()) {
      if (statement instanceof Statement.Instruction instruction) {
        instruction.operands().forEach(this::add);
      }
    }
  }

  /** As {@link #addAll}, without the functions that are called by name. */
  void addAllButCallTargets(Function function) {
    for (Statement statement : function.body()) {
      if (statement instanceof Statement.Instruction instruction) {
        boolean call = instruction.opcode().equals("call");
        for (Operand operand : instruction.operands()) {
          if (!call || !(operand instanceof Operand.FunctionAddress)) {
            add(operand);
          }
        }
      }
    }
  }

  private void add(Operand operand) {
    switch (operand) {
      case Operand.Address address -> variables.add(address.variable());
      case Operand.FunctionAddress address -> functions.add(address.name());
      case Operand.Vector vector -> vector.elements().forEach(this::add);
      case Operand.Memory memory -> add(memory.base());
      case Operand.Pair pair -> {
        add(pair.first());
        add(pair.second());
      }
      case Operand.Reg _,
          Operand.Part _,
          Operand.Not _,
          Operand.Int _,
          Operand.Real _,
          Operand.Special _,
          Operand.Target _,
          Operand.Sink _ -> {}
    }
  }
}
