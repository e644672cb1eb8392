// SPDX-License-Identifier: Apache-2.0
package io.gpupool.soft.compile;

import io.gpupool.soft.exec.ThreadBlock;
import java.lang.classfile.CodeBuilder;
import java.lang.classfile.Label;
import java.lang.classfile.instruction.SwitchCase;
import java.lang.constant.ConstantDescs;
import java.util.ArrayList;
import java.util.BitSet;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/** Emits the method that runs one device thread. */
final class ThreadMethod {
  /*
   * A thread that must wait stores its live registers in its frame and returns the number of the
   * place to come back to; when called again, a switch at the start leads to a stub that loads the
   * registers and jumps there. So one JVM thread runs many device threads, each at its own place.
   */

  private static final int MAX_LINE = 65_535;

  private final CodeBuilder cb;
  private final Graph graph;
  private final List<BasicBlock> resumable;
  private final Code code;
  private final OpCode ops;
  private final Map<BasicBlock, Label> labels = new HashMap<>();

  ThreadMethod(CodeBuilder cb, Graph graph, List<BasicBlock> resumable) {
    this.cb = cb;
    this.graph = graph;
    this.resumable = resumable;
    code = new Code(cb);
    ops = new OpCode(code);
    graph.order().forEach(block -> labels.put(block, cb.newLabel()));
  }

  void emit() {
    cb.loadConstant(ThreadBlock.POLL_TURNS);
    cb.istore(Code.POLL_LOCAL);
    cb.loadConstant(ThreadBlock.YIELD_TURNS);
    cb.istore(Code.YIELD_LOCAL);
    List<Label> stubs = new ArrayList<>();
    if (!resumable.isEmpty()) {
      dispatch(stubs);
    }
    clearUninitialised();
    List<BasicBlock> order = graph.order();
    for (int i = 0; i < order.size(); i++) {
      block(order.get(i), i + 1 < order.size() ? order.get(i + 1) : null);
    }
    for (int i = 0; i < stubs.size(); i++) {
      cb.labelBinding(stubs.get(i));
      BasicBlock block = resumable.get(i);
      restore(block.liveIn());
      cb.goto_(labels.get(block));
    }
  }

  private void dispatch(List<Label> stubs) {
    Label start = cb.newLabel();
    List<SwitchCase> cases = new ArrayList<>();
    for (BasicBlock block : resumable) {
      Label stub = cb.newLabel();
      stubs.add(stub);
      cases.add(SwitchCase.of(block.resumeId(), stub));
    }
    cb.iload(Code.RESUME_LOCAL);
    cb.tableswitch(1, resumable.size(), start, cases);
    cb.labelBinding(start);
  }

  /** The JVM wants to see a value in what the program may read before writing. */
  private void clearUninitialised() {
    forEach(
        graph.entry().liveIn(),
        register -> {
          switch (register.kind()) {
            case INT -> cb.iconst_0();
            case LONG -> cb.lconst_0();
            case FLOAT -> cb.fconst_0();
            case DOUBLE -> cb.dconst_0();
          }
          code.store(register);
        });
  }

  private void forEach(BitSet ids, java.util.function.Consumer<VReg> action) {
    ids.stream().forEach(id -> action.accept(graph.registers().get(id)));
  }

  private void block(BasicBlock block, BasicBlock next) {
    cb.labelBinding(labels.get(block));
    int line = 0;
    for (Op op : block.ops()) {
      line = mark(op, line);
      ops.emit(op);
    }
    terminate(block, next, line);
  }

  private int mark(Op op, int line) {
    int source = op.source().line();
    if (source != line && source <= MAX_LINE) {
      cb.lineNumber(source);
    }
    return source;
  }

  private void terminate(BasicBlock block, BasicBlock next, int line) {
    switch (block.terminator()) {
      case Terminator.Goto jump -> jump(jump.target(), next);
      case Terminator.Branch branch -> {
        code.load(branch.predicate());
        if (branch.negated()) {
          cb.ifeq(labels.get(branch.whenTrue()));
        } else {
          cb.ifne(labels.get(branch.whenTrue()));
        }
        jump(branch.whenFalse(), next);
      }
      case Terminator.Select select -> select(select);
      case Terminator.Wait wait -> {
        mark(wait.op(), line);
        ops.warp().arrive(wait.op(), wait.next().resumeId());
        cb.ifne(labels.get(wait.next()));
        suspend(wait.next());
      }
      case Terminator.Latch latch -> latch(latch);
      case Terminator.Exit _ -> {
        cb.iconst_0();
        cb.ireturn();
      }
    }
  }

  private void jump(BasicBlock target, BasicBlock next) {
    if (target != next) {
      cb.goto_(labels.get(target));
    }
  }

  private void select(Terminator.Select select) {
    List<BasicBlock> targets = select.targets();
    List<SwitchCase> cases = new ArrayList<>();
    for (int i = 0; i < targets.size(); i++) {
      cases.add(SwitchCase.of(i, labels.get(targets.get(i))));
    }
    code.push(select.index(), io.gpupool.soft.ptx.Type.U32);
    cb.tableswitch(0, targets.size() - 1, labels.get(targets.getLast()), cases);
  }

  private void latch(Terminator.Latch latch) {
    Label header = labels.get(latch.next());
    int counter = latch.yields() ? Code.YIELD_LOCAL : Code.POLL_LOCAL;
    cb.iinc(counter, -1);
    cb.iload(counter);
    cb.ifgt(header);
    if (latch.yields()) {
      suspend(latch.next());
    } else {
      code.pushBlock();
      code.callBlock("poll", "()I");
      cb.istore(Code.POLL_LOCAL);
      cb.goto_(header);
    }
  }

  private void suspend(BasicBlock next) {
    forEach(
        next.liveIn(),
        register -> {
          pushFrameSlot(register);
          code.load(register);
          switch (register.kind()) {
            case INT -> code.call(MemoryAccess.raw(), "putInt", "(JI)V");
            case LONG -> code.call(MemoryAccess.raw(), "putLong", "(JJ)V");
            case FLOAT -> code.call(MemoryAccess.raw(), "putFloat", "(JF)V");
            case DOUBLE -> code.call(MemoryAccess.raw(), "putDouble", "(JD)V");
          }
        });
    cb.loadConstant(next.resumeId());
    cb.ireturn();
  }

  private void restore(BitSet live) {
    forEach(
        live,
        register -> {
          pushFrameSlot(register);
          switch (register.kind()) {
            case INT -> code.call(MemoryAccess.raw(), "getInt", "(J)I");
            case LONG -> code.call(MemoryAccess.raw(), "getLong", "(J)J");
            case FLOAT -> code.call(MemoryAccess.raw(), "getFloat", "(J)F");
            case DOUBLE -> code.call(MemoryAccess.raw(), "getDouble", "(J)D");
          }
          code.store(register);
        });
  }

  private void pushFrameSlot(VReg register) {
    code.blockField("frames", ConstantDescs.CD_long);
    code.blockField("frameStride", ConstantDescs.CD_long);
    code.pushThread();
    cb.i2l();
    cb.lmul();
    cb.ladd();
    if (register.frameOffset() != 0) {
      cb.loadConstant((long) register.frameOffset());
      cb.ladd();
    }
  }
}
