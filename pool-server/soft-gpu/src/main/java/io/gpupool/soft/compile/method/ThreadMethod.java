// SPDX-License-Identifier: Apache-2.0
package io.gpupool.soft.compile.method;

import static java.util.Objects.requireNonNull;

import io.gpupool.soft.compile.emit.Code;
import io.gpupool.soft.compile.ir.BasicBlock;
import io.gpupool.soft.compile.ir.Graph;
import io.gpupool.soft.compile.ir.Terminator;
import io.gpupool.soft.compile.ir.VReg;
import io.gpupool.soft.exec.block.ThreadBlock;
import io.gpupool.soft.ptx.Type;
import io.gpupool.soft.ptx.module.PtxModule;
import java.lang.classfile.CodeBuilder;
import java.lang.classfile.Label;
import java.lang.classfile.instruction.SwitchCase;
import java.lang.constant.MethodTypeDesc;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** Emitter of a method that runs one device thread, or a part of its code. */
final class ThreadMethod extends BlockMethod {
  /*
   * A thread that must wait stores its live registers in its frame and returns the number of the
   * block to come back to; when called again, a switch at the start leads to a stub that loads the
   * registers and jumps there. So one JVM thread runs many device threads, each at its own place.
   *
   * Calls of functions go the same way: the caller stores its registers, and the number of the
   * block to return to is kept with the callee's frame. Where the code is too large for one JVM
   * method, control passes between its parts in the same way, too: a part returns the number of the
   * block to go on at, negated, to the method that called it.
   */

  private final MethodPlan plan;
  private final int part;
  private final boolean alone;
  private final Map<BasicBlock, Label> labels = new HashMap<>();
  private final Map<BasicBlock, Label> exits = new LinkedHashMap<>();
  private final Label dispatch;

  ThreadMethod(CodeBuilder cb, Graph graph, MethodPlan plan, int part) {
    super(cb, graph, !graph.hasCalls() && plan.waits(graph));
    this.plan = plan;
    this.part = part;
    alone = plan.parts().size() == 1;
    dispatch = cb.newLabel();
    plan.parts().get(part).forEach(block -> labels.put(block, cb.newLabel()));
  }

  void emit() {
    Label start = cb.newBoundLabel();
    cb.loadConstant(ThreadBlock.POLL_TURNS);
    cb.istore(Code.POLL_LOCAL);
    readYieldTurns();
    List<BasicBlock> resumable = plan.resumableIn(part);
    List<Label> stubs = new ArrayList<>();
    cb.labelBinding(dispatch);
    frames.find();
    if (!resumable.isEmpty()) {
      enter(resumable, stubs);
    }
    if (part == 0) {
      forEach(graph.entry().liveIn(), this::clear);
    }
    emit(plan.parts().get(part));
    for (int i = 0; i < stubs.size(); i++) {
      cb.labelBinding(stubs.get(i));
      forEach(resumable.get(i).liveIn(), frames::restore);
      cb.goto_(labels.get(resumable.get(i)));
    }
    exits.forEach((block, label) -> {
      cb.labelBinding(label);
      forEach(block.liveIn(), frames::save);
      cb.loadConstant(-block.resumeId());
      cb.ireturn();
    });
    noteFaults(start);
  }

  /** Leads to the block with the number in the resume local; to the kernel's entry from 0. */
  private void enter(List<BasicBlock> resumable, List<Label> stubs) {
    List<SwitchCase> cases = new ArrayList<>();
    for (BasicBlock block : resumable) {
      Label stub = cb.newLabel();
      stubs.add(stub);
      cases.add(SwitchCase.of(block.resumeId(), stub));
    }
    // A part is entered with one of its numbers only; the first one also with 0.
    Label otherwise = part == 0 ? cb.newLabel() : stubs.getFirst();
    cb.iload(Code.RESUME_LOCAL);
    cb.tableswitch(
        resumable.getFirst().resumeId(), resumable.getLast().resumeId(), otherwise, cases);
    if (part == 0) {
      cb.labelBinding(otherwise);
    }
  }

  /** Where to jump to for a block, which may lie in another method. */
  @Override
  Label label(BasicBlock block) {
    Label here = labels.get(block);
    return here != null ? here : exits.computeIfAbsent(block, _ -> cb.newLabel());
  }

  @Override
  void comeTo(Terminator.Wait wait) {
    ops.warp().arrive(wait.op(), wait.next().resumeId());
    cb.ifne(label(wait.next()));
    giveWay(wait.next());
  }

  @Override
  void giveWay(BasicBlock next) {
    forEach(next.liveIn(), frames::save);
    cb.loadConstant(next.resumeId());
    cb.ireturn();
  }

  @Override
  void goBack() {
    code.pushBlock();
    code.pushThread();
    code.callBlock("leave", "(I)I");
    cb.istore(Code.RESUME_LOCAL);
    goOn();
  }

  @Override
  void end() {
    cb.iconst_0();
    cb.ireturn();
  }

  @Override
  void call(Terminator.Call call) {
    mark(call.source().line());
    forEach(call.next().liveIn(), frames::save);
    if (call.address() instanceof VReg) {
      pushEntryOf(call);
    } else {
      cb.loadConstant(call.entries().values().iterator().next().resumeId());
    }
    cb.istore(Code.RESUME_LOCAL);
    code.pushBlock();
    code.pushThread();
    cb.loadConstant(call.next().resumeId());
    code.callBlock("enter", "(II)V");
    goOn();
  }

  /** Pushes the number of the first block of the function at the call's address. */
  private void pushEntryOf(Terminator.Call call) {
    Label unknown = cb.newLabel();
    Label end = cb.newLabel();
    List<SwitchCase> cases = new ArrayList<>();
    Map<Integer, Label> byIndex = new LinkedHashMap<>();
    for (long address : new java.util.TreeSet<>(call.entries().keySet())) {
      Label label = cb.newLabel();
      byIndex.put(PtxModule.functionIndex(address), label);
      cases.add(SwitchCase.of(PtxModule.functionIndex(address), label));
    }
    code.push(call.address(), Type.U64);
    code.call(Code.desc(PtxModule.class), "functionIndex", "(J)I");
    cb.lookupswitch(unknown, cases);
    call.entries()
        .forEach((address, entry) -> {
          cb.labelBinding(byIndex.get(PtxModule.functionIndex(address)));
          cb.loadConstant(entry.resumeId());
          cb.goto_(end);
        });
    cb.labelBinding(unknown);
    code.pushBlock();
    code.callBlock("badCall", "()I");
    cb.labelBinding(end);
  }

  /** Goes on at the number in the resume local. */
  private void goOn() {
    if (alone) {
      cb.goto_(dispatch);
    } else {
      cb.iload(Code.RESUME_LOCAL);
      cb.ineg();
      cb.ireturn();
    }
  }

  /**
   * Emits the method that calls the parts until the thread ends or must wait. A loop may lie in
   * several parts, each of which counts its turns anew; so here, too, a thread gives way from time
   * to time, or looks whether its grid was cancelled if it has no frame of its own to come back to.
   */
  static void emitDispatcher(
      CodeBuilder cb, MethodPlan plan, boolean waits, java.util.function.IntConsumer invokePart) {
    cb.loadConstant(ThreadBlock.YIELD_TURNS);
    cb.istore(Code.POLL_LOCAL);
    List<Label> partLabels = new ArrayList<>();
    plan.parts().forEach(_ -> partLabels.add(cb.newLabel()));
    List<SwitchCase> cases = new ArrayList<>();
    for (BasicBlock block : plan.resumable()) {
      cases.add(
          SwitchCase.of(
              block.resumeId(), partLabels.get(requireNonNull(plan.partOf().get(block)))));
    }
    Label again = cb.newBoundLabel();
    Label result = cb.newLabel();
    cb.iload(Code.RESUME_LOCAL);
    cb.tableswitch(1, plan.resumable().size(), partLabels.getFirst(), cases);
    for (int i = 0; i < partLabels.size(); i++) {
      cb.labelBinding(partLabels.get(i));
      cb.aload(Code.BLOCK_LOCAL);
      for (int slot = Code.THREAD_LOCAL; slot <= Code.RESUME_LOCAL; slot++) {
        cb.iload(slot);
      }
      invokePart.accept(i);
      cb.goto_(result);
    }
    cb.labelBinding(result);
    cb.dup();
    Label done = cb.newLabel();
    cb.ifge(done);
    cb.ineg();
    cb.istore(Code.RESUME_LOCAL);
    cb.iinc(Code.POLL_LOCAL, -1);
    cb.iload(Code.POLL_LOCAL);
    cb.ifgt(again);
    if (waits) {
      cb.iload(Code.RESUME_LOCAL);
      cb.ireturn();
    } else {
      cb.aload(Code.BLOCK_LOCAL);
      cb.invokevirtual(Code.BLOCK, "poll", MethodTypeDesc.ofDescriptor("()I"));
      cb.istore(Code.POLL_LOCAL);
      cb.goto_(again);
    }
    cb.labelBinding(done);
    cb.ireturn();
  }
}
