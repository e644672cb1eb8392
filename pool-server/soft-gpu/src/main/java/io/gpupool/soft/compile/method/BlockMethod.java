// SPDX-License-Identifier: Apache-2.0
package io.gpupool.soft.compile.method;

import io.gpupool.soft.compile.emit.Code;
import io.gpupool.soft.compile.ir.BasicBlock;
import io.gpupool.soft.compile.ir.Graph;
import io.gpupool.soft.compile.ir.Op;
import io.gpupool.soft.compile.ir.Terminator;
import io.gpupool.soft.compile.ir.VReg;
import io.gpupool.soft.ptx.Type;
import java.lang.classfile.CodeBuilder;
import java.lang.classfile.Label;
import java.lang.classfile.instruction.SwitchCase;
import java.lang.constant.ConstantDescs;
import java.util.ArrayList;
import java.util.BitSet;
import java.util.List;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/** Emitter of the basic blocks of a method; how control leaves the method is up to its kind. */
abstract class BlockMethod {
  private static final int MAX_LINE = 65_535;

  final CodeBuilder cb;
  final Graph graph;
  final Code code;
  final OpCode ops;
  final FrameCode frames;

  /**
   * A method.
   *
   * @param interleaved whether the frames of all threads lie interleaved
   */
  BlockMethod(CodeBuilder cb, Graph graph, boolean interleaved) {
    this.cb = cb;
    this.graph = graph;
    code = new Code(cb, interleaved);
    frames = new FrameCode(code, graph);
    ops = new OpCode(code, graph, frames);
  }

  /** Where to jump to for a block. */
  abstract Label label(BasicBlock block);

  /** The thread comes to a wait, at whose operation the line is. */
  abstract void comeTo(Terminator.Wait wait);

  /** Leaves the method, to be entered at the block when others have run. */
  abstract void giveWay(BasicBlock next);

  /** Whether a thread can pass a latch more than once before it leaves the method. */
  boolean turns(BasicBlock latch) {
    return true;
  }

  /** The thread has ended. */
  abstract void end();

  abstract void call(Terminator.Call call);

  abstract void goBack();

  final void emit(List<BasicBlock> order) {
    for (int i = 0; i < order.size(); i++) {
      BasicBlock block = order.get(i);
      cb.labelBinding(label(block));
      int line = 0;
      for (Op op : block.ops()) {
        line = mark(op, line);
        ops.emit(op);
      }
      terminate(block, i + 1 < order.size() ? order.get(i + 1) : null, line);
    }
  }

  /** Ends a method from whose start on each fault is noted as that of the thread that runs. */
  final void noteFaults(Label start) {
    Label end = cb.newBoundLabel();
    Label handler = cb.newBoundLabel();
    cb.exceptionCatch(start, end, handler, Code.desc(RuntimeException.class));
    code.pushBlock();
    code.pushThread();
    cb.putfield(Code.BLOCK, "faulted", ConstantDescs.CD_int);
    cb.athrow();
  }

  final void forEach(BitSet ids, Consumer<VReg> action) {
    ids.stream().forEach(id -> action.accept(graph.registers().get(id)));
  }

  /** The JVM wants to see a value in what the program may read before writing. */
  final void clear(VReg register) {
    switch (register.kind()) {
      case INT -> cb.iconst_0();
      case LONG -> cb.lconst_0();
      case FLOAT -> cb.fconst_0();
      case DOUBLE -> cb.dconst_0();
    }
    code.store(register);
  }

  final void mark(int line) {
    if (line <= MAX_LINE) {
      cb.lineNumber(line);
    }
  }

  private int mark(Op op, int line) {
    int source = op.source().line();
    if (source != line) {
      mark(source);
    }
    return source;
  }

  private void terminate(BasicBlock block, @Nullable BasicBlock next, int line) {
    switch (block.terminator()) {
      case Terminator.Goto jump -> jump(jump.target(), next);
      case Terminator.Branch branch -> {
        code.load(branch.predicate());
        if (branch.negated()) {
          cb.ifeq(label(branch.whenTrue()));
        } else {
          cb.ifne(label(branch.whenTrue()));
        }
        jump(branch.whenFalse(), next);
      }
      case Terminator.Select select -> select(select);
      case Terminator.Wait wait -> {
        mark(wait.op(), line);
        comeTo(wait);
      }
      case Terminator.Latch latch when !turns(block) -> jump(latch.next(), next);
      case Terminator.Latch latch -> latch(latch);
      case Terminator.Call call -> call(call);
      case Terminator.Return _ -> goBack();
      case Terminator.Exit _ -> end();
    }
  }

  private void jump(BasicBlock target, @Nullable BasicBlock next) {
    if (target != next) {
      cb.goto_(label(target));
    }
  }

  private void select(Terminator.Select select) {
    List<BasicBlock> targets = select.targets();
    List<SwitchCase> cases = new ArrayList<>();
    for (int i = 0; i < targets.size(); i++) {
      cases.add(SwitchCase.of(i, label(targets.get(i))));
    }
    code.push(select.index(), Type.U32);
    cb.tableswitch(0, targets.size() - 1, label(targets.getLast()), cases);
  }

  private void latch(Terminator.Latch latch) {
    Label header = label(latch.next());
    int counter = latch.yields() ? Code.YIELD_LOCAL : Code.POLL_LOCAL;
    cb.iinc(counter, -1);
    cb.iload(counter);
    cb.ifgt(header);
    if (latch.yields()) {
      giveWay(latch.next());
    } else {
      code.pushBlock();
      code.callBlock("poll", "()I");
      cb.istore(Code.POLL_LOCAL);
      cb.goto_(header);
    }
  }

  /** Reads how often a thread may turn before it gives way. */
  final void readYieldTurns() {
    code.blockField("yieldTurns", ConstantDescs.CD_int);
    cb.istore(Code.YIELD_LOCAL);
  }
}
