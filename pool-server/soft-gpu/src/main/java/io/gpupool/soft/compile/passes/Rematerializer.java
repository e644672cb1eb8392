// SPDX-License-Identifier: Apache-2.0
package io.gpupool.soft.compile.passes;

import static java.util.Objects.requireNonNull;

import io.gpupool.soft.compile.ir.BasicBlock;
import io.gpupool.soft.compile.ir.Graph;
import io.gpupool.soft.compile.ir.Op;
import io.gpupool.soft.compile.ir.Terminator;
import io.gpupool.soft.compile.ir.VReg;
import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * Pass that computes again behind a wait what is cheaper to compute than to keep in a frame:
 * numbers that follow from the kernel's parameters and the thread's place alone, addresses above
 * all. The JIT compiler then also sees how they depend on the thread's number.
 */
public final class Rematerializer {
  /** Most operations spent on a value that is the same for all threads of a block. */
  private static final int UNIFORM_OPS = 24;

  /** Most operations spent on a value of a thread. */
  private static final int THREAD_OPS = 8;

  private final Graph graph;
  private final Recipes recipes;

  private Rematerializer(Graph graph) {
    this.graph = graph;
    recipes = new Recipes(graph);
  }

  /** Changes a graph whose live registers are known; they are to be found again afterwards. */
  public static void apply(Graph graph) {
    Rematerializer rematerial = new Rematerializer(graph);
    for (BasicBlock block : graph.order()) {
      if (block.terminator() instanceof Terminator.Wait wait) {
        rematerial.recompute(wait.next());
      }
    }
  }

  private void recompute(BasicBlock block) {
    Set<VReg> needed = new LinkedHashSet<>();
    block.liveIn().stream()
        .mapToObj(id -> graph.registers().get(id))
        .filter(register -> isCheap(recipes.of(register)))
        .forEach(register -> recipes.collect(register, needed));
    List<Op> ops = new ArrayList<>();
    needed.forEach(register -> ops.add(requireNonNull(recipes.of(register)).op()));
    block.ops().addAll(0, ops);
  }

  private static boolean isCheap(Recipes.@Nullable Recipe recipe) {
    return recipe != null && recipe.cost() <= (recipe.uniform() ? UNIFORM_OPS : THREAD_OPS);
  }
}
