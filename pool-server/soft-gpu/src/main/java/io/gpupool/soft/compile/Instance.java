// SPDX-License-Identifier: Apache-2.0
package io.gpupool.soft.compile;

import io.gpupool.soft.ptx.Function;
import io.gpupool.soft.ptx.Label;
import io.gpupool.soft.ptx.Register;
import io.gpupool.soft.ptx.Variable;
import java.util.HashMap;
import java.util.Map;

/** One inlined copy of a function: what its names mean in the graph. */
final class Instance {
  private final Graph graph;
  private final Function function;
  private final BasicBlock afterReturn;
  private final Map<Register, VReg> registers = new HashMap<>();
  private final Map<Label, BasicBlock> blocks = new HashMap<>();
  private final Map<Variable, Placement> placements = new HashMap<>();

  /**
   * Makes an instance.
   *
   * @param afterReturn where {@code ret} goes; null in a kernel, which ends there
   */
  Instance(Graph graph, Function function, BasicBlock afterReturn) {
    this.graph = graph;
    this.function = function;
    this.afterReturn = afterReturn;
  }

  Function function() {
    return function;
  }

  BasicBlock afterReturn() {
    return afterReturn;
  }

  Map<Variable, Placement> placements() {
    return placements;
  }

  VReg register(Register register) {
    return registers.computeIfAbsent(
        register, declared -> graph.newRegister(declared.name(), declared.type()));
  }

  BasicBlock block(Label label) {
    return blocks.computeIfAbsent(label.definition(), _ -> graph.newBlock());
  }
}
