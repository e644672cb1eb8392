// SPDX-License-Identifier: Apache-2.0
package io.gpupool.soft.compile.lowering;

import io.gpupool.soft.ptx.Function;
import io.gpupool.soft.ptx.Function.Formal;
import io.gpupool.soft.ptx.Operand;
import io.gpupool.soft.ptx.Space;
import io.gpupool.soft.ptx.Statement;
import io.gpupool.soft.ptx.Statement.Instruction;
import io.gpupool.soft.ptx.Variable;
import io.gpupool.soft.ptx.module.PtxModule;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/** The uses of the parameter-space variables of calls, by function. */
final class ParamUses {
  private final PtxModule module;
  private final Map<Function, Map<Variable, ParamUse>> formalUses = new HashMap<>();

  ParamUses(PtxModule module) {
    this.module = module;
  }

  /** Uses of the variables that a body declares, by itself and by those it passes them to. */
  Map<Variable, ParamUse> ofLocals(Function function) {
    List<Variable> variables = new ArrayList<>(function.locals());
    variables.removeIf(variable -> variable.space() != Space.PARAM);
    return collect(function, variables);
  }

  /** Uses of the formal parameters and results. */
  Map<Variable, ParamUse> ofFormals(Function function) {
    Map<Variable, ParamUse> known = formalUses.get(function);
    if (known == null) {
      // Present while it is worked out, for functions that pass their own parameters to themselves.
      formalUses.put(function, Map.of());
      known = collect(function, formals(function));
      formalUses.put(function, known);
    }
    return known;
  }

  private Map<Variable, ParamUse> collect(Function function, List<Variable> variables) {
    Map<Variable, ParamUse> uses = new HashMap<>();
    variables.forEach(variable -> uses.put(variable, new ParamUse()));
    if (uses.isEmpty()) {
      return uses;
    }
    for (Statement statement : function.body()) {
      if (statement instanceof Instruction instruction) {
        if (instruction.opcode().equals("call")) {
          ofCall(instruction, uses);
        } else {
          ParamUse.collect(instruction, uses);
        }
      }
    }
    return uses;
  }

  private static List<Variable> formals(Function function) {
    List<Formal> formals = new ArrayList<>(function.params());
    formals.addAll(function.results());
    List<Variable> variables = new ArrayList<>();
    for (Formal formal : formals) {
      if (formal instanceof Formal.InMemory(Variable variable)) {
        variables.add(variable);
      }
    }
    return variables;
  }

  private void ofCall(Instruction call, Map<Variable, ParamUse> uses) {
    CallParts parts = CallParts.of(call);
    if (!(parts.target() instanceof Operand.FunctionAddress(String name))) {
      return;
    }
    Optional<Function> callee = module.function(name);
    if (callee.isPresent()) {
      match(parts.args(), callee.get().params(), callee.get(), uses);
      match(parts.results(), callee.get().results(), callee.get(), uses);
    }
  }

  private void match(
      List<Operand> actuals, List<Formal> formals, Function callee, Map<Variable, ParamUse> uses) {
    for (int i = 0; i < Math.min(actuals.size(), formals.size()); i++) {
      if (actuals.get(i) instanceof Operand.Address(Variable variable, long _)
          && uses.containsKey(variable)
          && formals.get(i) instanceof Formal.InMemory(Variable formal)) {
        ParamUse use = uses.get(variable);
        if (callee.defined()) {
          ParamUse inside = ofFormals(callee).get(formal);
          if (inside == null) {
            use.escape();
          } else {
            use.addAll(inside);
          }
        } else {
          addBuiltIn(formal, use);
        }
      }
    }
  }

  /** A function of the device takes a structure by the integers that it consists of. */
  private static void addBuiltIn(Variable formal, ParamUse use) {
    int width = (int) Math.min(formal.sizeBytes(), Math.clamp(formal.alignBytes(), 4, 8));
    if (formal.sizeBytes() <= Long.BYTES) {
      use.add(0, (int) formal.sizeBytes());
      return;
    }
    for (long offset = 0; offset + width <= formal.sizeBytes(); offset += width) {
      use.add(offset, width);
    }
  }
}
