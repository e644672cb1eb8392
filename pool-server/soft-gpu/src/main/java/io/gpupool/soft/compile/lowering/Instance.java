// SPDX-License-Identifier: Apache-2.0
package io.gpupool.soft.compile.lowering;

import static java.util.Objects.requireNonNull;

import io.gpupool.soft.compile.ir.BasicBlock;
import io.gpupool.soft.compile.ir.Graph;
import io.gpupool.soft.compile.ir.VReg;
import io.gpupool.soft.ptx.Function;
import io.gpupool.soft.ptx.Label;
import io.gpupool.soft.ptx.Register;
import io.gpupool.soft.ptx.Statement.Instruction;
import io.gpupool.soft.ptx.Type;
import io.gpupool.soft.ptx.Variable;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** One copy of a function in the graph: what its names mean there. */
final class Instance {
  /** How the copy is entered and left. */
  enum Kind {
    /** Entered by a launch; the thread ends with it. */
    KERNEL,
    /** Part of its caller. */
    INLINED,
    /** Called; has a frame and local memory of its own in each activation. */
    ROUTINE
  }

  private final Graph graph;
  private final Function function;
  private final Kind kind;
  private final @Nullable BasicBlock afterReturn;
  private final boolean relocatable;
  private final Map<Register, VReg> registers = new HashMap<>();
  private final Map<Register, List<VReg>> pairs = new HashMap<>();
  private final Map<Label, BasicBlock> blocks = new HashMap<>();
  private final Map<Variable, Placement> placements = new HashMap<>();

  private Instance(
      Graph graph,
      Function function,
      Kind kind,
      @Nullable BasicBlock afterReturn,
      boolean relocatable) {
    this.graph = graph;
    this.function = function;
    this.kind = kind;
    this.afterReturn = afterReturn;
    this.relocatable = relocatable;
  }

  static Instance kernel(Graph graph, Function function) {
    return new Instance(graph, function, Kind.KERNEL, null, false);
  }

  static Instance routine(Graph graph, Function function) {
    return new Instance(graph, function, Kind.ROUTINE, null, true);
  }

  /** A copy inside a caller, going on at {@code afterReturn}. */
  static Instance inlined(Graph graph, Function function, Instance caller, BasicBlock afterReturn) {
    return new Instance(graph, function, Kind.INLINED, afterReturn, caller.relocatable);
  }

  /** Stands for the place where a function begins or ends. */
  static Instruction synthetic(Function function) {
    return new Instruction(function.line(), 1, null, "ret", List.of(), List.of());
  }

  Function function() {
    return function;
  }

  Kind kind() {
    return kind;
  }

  BasicBlock afterReturn() {
    return requireNonNull(afterReturn, "not a part of its caller");
  }

  /** Whether its local memory lies elsewhere in each activation. */
  boolean relocatable() {
    return relocatable;
  }

  Map<Variable, Placement> placements() {
    return placements;
  }

  VReg register(Register register) {
    return registers.computeIfAbsent(
        register, declared -> graph.newRegister(declared.name(), declared.type()));
  }

  /** The lower and upper half of a register of 128 bits. */
  List<VReg> pair(Register register) {
    return pairs.computeIfAbsent(
        register,
        declared ->
            List.of(
                graph.newRegister(declared.name() + ".low", Type.B64),
                graph.newRegister(declared.name() + ".high", Type.B64)));
  }

  BasicBlock block(Label label) {
    return blocks.computeIfAbsent(label.definition(), _ -> graph.newBlock());
  }
}
