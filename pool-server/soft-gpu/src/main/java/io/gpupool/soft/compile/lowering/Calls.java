// SPDX-License-Identifier: Apache-2.0
package io.gpupool.soft.compile.lowering;

import io.gpupool.soft.ptx.Function;
import io.gpupool.soft.ptx.Operand;
import io.gpupool.soft.ptx.Statement;
import io.gpupool.soft.ptx.Statement.Instruction;
import io.gpupool.soft.ptx.module.PtxModule;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.HashMap;
import java.util.LinkedHashSet;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/** The call graph of a module, which tells the functions that cannot be inlined. */
public final class Calls {
  private final PtxModule module;
  private final Map<Function, Set<Function>> callees = new HashMap<>();
  private final Map<Function, Boolean> recursive = new HashMap<>();
  private @Nullable Set<Function> addressTaken;

  Calls(PtxModule module) {
    this.module = module;
  }

  /** Whether a call of the function may come back to it before it returns. */
  boolean isRecursive(Function function) {
    return recursive.computeIfAbsent(function, this::reachesItself);
  }

  private boolean reachesItself(Function function) {
    Set<Function> seen = new LinkedHashSet<>();
    Deque<Function> open = new ArrayDeque<>(callees(function));
    while (!open.isEmpty()) {
      Function next = open.remove();
      if (next.equals(function)) {
        return true;
      }
      if (seen.add(next)) {
        open.addAll(callees(next));
      }
    }
    return false;
  }

  private Set<Function> callees(Function function) {
    Set<Function> known = callees.get(function);
    if (known != null) {
      return known;
    }
    Set<Function> found = new LinkedHashSet<>();
    for (Statement statement : function.body()) {
      if (statement instanceof Instruction instruction && instruction.opcode().equals("call")) {
        switch (CallParts.of(instruction).target()) {
          case Operand.FunctionAddress(String name) ->
              module.function(name).filter(Function::defined).ifPresent(found::add);
          default -> found.addAll(addressTaken());
        }
      }
    }
    callees.put(function, found);
    return found;
  }

  /** Functions whose address the code or the initial data of the module holds. */
  Set<Function> addressTaken() {
    if (addressTaken == null) {
      addressTaken = new LinkedHashSet<>();
      module.addressTakenFunctions().stream().filter(Function::defined).forEach(addressTaken::add);
    }
    return addressTaken;
  }
}
