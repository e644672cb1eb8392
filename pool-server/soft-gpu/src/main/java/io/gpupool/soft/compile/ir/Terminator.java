// SPDX-License-Identifier: Apache-2.0
package io.gpupool.soft.compile.ir;

import io.gpupool.soft.ptx.Statement.Instruction;
import java.util.List;
import java.util.Map;

/** The end of a basic block: how control leaves it. */
public sealed interface Terminator {
  /** Blocks of the same function that may come next. */
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

  /**
   * A call of a function that is not inlined; its arguments are in the frame to come.
   *
   * @param address of the function
   * @param entries block at which the function of each address begins
   */
  record Call(Instruction source, Value address, Map<Long, BasicBlock> entries, BasicBlock next)
      implements Terminator {
    @Override
    public List<BasicBlock> successors() {
      return List.of(next);
    }
  }

  /** Back to the caller. */
  record Return() implements Terminator {
    @Override
    public List<BasicBlock> successors() {
      return List.of();
    }
  }

  record Exit() implements Terminator {
    @Override
    public List<BasicBlock> successors() {
      return List.of();
    }
  }
}
