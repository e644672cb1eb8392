// SPDX-License-Identifier: Apache-2.0
package io.gpupool.soft.compile.passes;

import static java.util.Objects.requireNonNull;

import io.gpupool.soft.compile.ir.BasicBlock;
import io.gpupool.soft.compile.ir.Graph;
import io.gpupool.soft.compile.ir.Op;
import io.gpupool.soft.compile.ir.VReg;
import io.gpupool.soft.compile.ir.Value;
import java.util.BitSet;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * The registers whose only value follows from the kernel's parameters and the thread's place alone,
 * so that it can be computed anywhere.
 */
public final class Recipes {
  /** Longer ones are not looked for. */
  private static final int MAX_OPS = 24;

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
   * @param op the last operation
   * @param cost operations, those of what it is made from included
   * @param uniform whether the value is the same for all threads of a block
   */
  public record Recipe(Op op, int cost, boolean uniform) {}

  private final Op[] definitions;
  private final BitSet definedTwice = new BitSet();
  private final Map<VReg, Recipe> recipes = new HashMap<>();
  private final Set<VReg> refused = new HashSet<>();

  public Recipes(Graph graph) {
    definitions = new Op[graph.registers().size()];
    for (BasicBlock block : graph.order()) {
      block.ops().forEach(this::define);
    }
  }

  /** The same operation may stand in several places: it makes the same value in each. */
  private void define(Op op) {
    for (VReg result : op.results()) {
      if (result != null) {
        if (definitions[result.id()] != null && definitions[result.id()] != op) {
          definedTwice.set(result.id());
        }
        definitions[result.id()] = op;
      }
    }
  }

  /** Adds a register behind those that it is made from; it has a recipe. */
  public void collect(VReg register, Set<VReg> needed) {
    if (!needed.contains(register)) {
      requireNonNull(recipes.get(register)).op().uses().forEach(use -> collect(use, needed));
      needed.add(register);
    }
  }

  /** How a register is made; null if that cannot be repeated. */
  public @Nullable Recipe of(VReg register) {
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
          Recipe made = of(use);
          if (made == null) {
            return null;
          }
          cost += made.cost();
          uniform &= made.uniform();
        }
        case Value.Special(String name) -> uniform &= UNIFORM.contains(name);
        default -> {}
      }
    }
    Recipe recipe = new Recipe(op, cost, uniform);
    if (cost > MAX_OPS) {
      return null;
    }
    refused.remove(register);
    recipes.put(register, recipe);
    return recipe;
  }

  private static boolean isPure(Op op) {
    if (op.results().size() != 1 || !op.args().stream().allMatch(Recipes::isPure)) {
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
  public static boolean isParameter(Op op) {
    return op.results().size() == 1
        && op.results().get(0) != null
        && op.space() == io.gpupool.soft.ptx.Space.PARAM
        && op.args().get(0) instanceof Value.Memory(Value.Int _, long _);
  }
}
