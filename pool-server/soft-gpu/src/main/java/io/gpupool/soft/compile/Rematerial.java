// SPDX-License-Identifier: Apache-2.0
package io.gpupool.soft.compile;

import java.util.ArrayList;
import java.util.BitSet;
import java.util.HashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;

/**
 * Computes again behind a wait what is cheaper to compute than to keep in a frame: numbers that
 * follow from the kernel's parameters and the thread's place alone, addresses above all. The JIT
 * compiler then also sees how they depend on the thread's number.
 */
final class Rematerial {
  /** Most operations spent on a value that is the same for all threads of a block. */
  private static final int UNIFORM_OPS = 24;

  /** Most operations spent on a value of a thread. */
  private static final int THREAD_OPS = 8;

  private static final Set<String> UNIFORM =
      Set.of(
          "%ntid.x",
          "%ntid.y",
          "%ntid.z",
          "%ctaid.x",
          "%ctaid.y",
          "%ctaid.z",
          "%nctaid.x",
          "%nctaid.y",
          "%nctaid.z");

  private static final Set<String> OF_THREAD = Set.of("%tid.x", "%tid.y", "%tid.z", "%laneid");

  /**
   * How a register's only value is made.
   *
   * @param cost operations, those of what it is made from included
   */
  private record Recipe(Op op, int cost, boolean uniform) {
    boolean isCheap() {
      return cost <= (uniform ? UNIFORM_OPS : THREAD_OPS);
    }
  }

  private final Graph graph;
  private final Op[] definitions;
  private final BitSet definedTwice = new BitSet();
  private final Map<VReg, Recipe> recipes = new HashMap<>();
  private final Set<VReg> refused = new LinkedHashSet<>();

  private Rematerial(Graph graph) {
    this.graph = graph;
    definitions = new Op[graph.registers().size()];
    for (BasicBlock block : graph.order()) {
      block.ops().forEach(this::define);
    }
  }

  /** Changes a graph whose live registers are known; they are to be found again afterwards. */
  static void apply(Graph graph) {
    Rematerial rematerial = new Rematerial(graph);
    for (BasicBlock block : graph.order()) {
      if (block.terminator() instanceof Terminator.Wait wait) {
        rematerial.recompute(wait.next());
      }
    }
  }

  private void define(Op op) {
    for (VReg result : op.results()) {
      if (result != null) {
        if (definitions[result.id()] != null) {
          definedTwice.set(result.id());
        }
        definitions[result.id()] = op;
      }
    }
  }

  private void recompute(BasicBlock block) {
    Set<VReg> needed = new LinkedHashSet<>();
    block.liveIn().stream()
        .mapToObj(id -> graph.registers().get(id))
        .filter(register -> recipe(register) != null && recipe(register).isCheap())
        .forEach(register -> collect(register, needed));
    List<Op> ops = new ArrayList<>();
    needed.forEach(register -> ops.add(recipes.get(register).op()));
    block.ops().addAll(0, ops);
  }

  /** Adds a register behind those that it is made from. */
  private void collect(VReg register, Set<VReg> needed) {
    if (!needed.contains(register)) {
      recipes.get(register).op().uses().forEach(use -> collect(use, needed));
      needed.add(register);
    }
  }

  /** How a register is made; null if that cannot be repeated. */
  private Recipe recipe(VReg register) {
    Recipe known = recipes.get(register);
    if (known != null || refused.contains(register)) {
      return known;
    }
    // Until it is found to be repeatable: a register may depend on itself.
    refused.add(register);
    Op op = definitions[register.id()];
    if (op == null || definedTwice.get(register.id()) || !isPure(op)) {
      return null;
    }
    int cost = 1;
    boolean uniform = true;
    for (Value value : op.args()) {
      switch (value) {
        case VReg use -> {
          Recipe of = recipe(use);
          if (of == null) {
            return null;
          }
          cost += of.cost();
          uniform &= of.uniform();
        }
        case Value.Special(String name) -> uniform &= UNIFORM.contains(name);
        default -> {}
      }
    }
    Recipe recipe = new Recipe(op, Math.min(cost, 1000), uniform);
    if (cost > UNIFORM_OPS) {
      return null;
    }
    refused.remove(register);
    recipes.put(register, recipe);
    return recipe;
  }

  private static boolean isPure(Op op) {
    if (op.results().size() != 1 || !op.args().stream().allMatch(Rematerial::isPure)) {
      return op.opcode().equals("ld") && isParameter(op);
    }
    return switch (op.opcode()) {
      case "mov", "cvta", "add", "sub", "mul", "mad", "and", "or", "xor", "not", "shl", "shr" ->
          true;
      case "neg", "min", "max", "selp", "setp", "bfe", "mul24", "mad24" -> true;
      case "cvt" -> op.types().stream().noneMatch(type -> type.isFloat());
      default -> false;
    };
  }

  private static boolean isPure(Value value) {
    return switch (value) {
      case VReg _, Value.Int _, Value.Real _ -> true;
      case Value.Special(String name) -> UNIFORM.contains(name) || OF_THREAD.contains(name);
      case Value.Not _, Value.LocalAddress _, Value.Memory _, Value.Vector _ -> false;
    };
  }

  /** Whether an operation reads a parameter of the kernel, which nobody writes. */
  static boolean isParameter(Op op) {
    return op.results().size() == 1
        && op.results().get(0) != null
        && MemoryCode.space(op) == io.gpupool.soft.ptx.Space.PARAM
        && op.args().get(0) instanceof Value.Memory(Value.Int _, long _);
  }
}
