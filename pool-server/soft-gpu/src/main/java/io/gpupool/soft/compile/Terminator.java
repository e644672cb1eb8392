// SPDX-License-Identifier: Apache-2.0
package io.gpupool.soft.compile;

import java.util.List;

/** How control leaves a basic block. */
sealed interface Terminator {
  /** Blocks that may come next. */
  List<BasicBlock> successors();

  record Goto(BasicBlock target) implements Terminator {
    @Override
    public List<BasicBlock> successors() {
      return List.of(target);
    }
  }

  /** To {@code whenTrue} if the predicate, complemented if {@code negated}, holds. */
  record Branch(VReg predicate, boolean negated, BasicBlock whenTrue, BasicBlock whenFalse)
      implements Terminator {
    @Override
    public List<BasicBlock> successors() {
      return List.of(whenTrue, whenFalse);
    }
  }

  /** To the target that the index selects; the last one for an index out of range. */
  record Select(VReg index, List<BasicBlock> targets) implements Terminator {
    @Override
    public List<BasicBlock> successors() {
      return targets;
    }
  }

  /** The thread waits for others; its results are there when {@code next} begins. */
  record Wait(Op op, BasicBlock next) implements Terminator {
    @Override
    public List<BasicBlock> successors() {
      return List.of(next);
    }
  }

  /** The end of a loop's turn; from time to time the thread lets others run. */
  record Latch(boolean yields, BasicBlock next) implements Terminator {
    @Override
    public List<BasicBlock> successors() {
      return List.of(next);
    }
  }

  record Exit() implements Terminator {
    @Override
    public List<BasicBlock> successors() {
      return List.of();
    }
  }
}
