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

/**
 * Emits a method that runs a region for some neighbouring threads, one after the other: a loop over
 * the threads of a row, in which the JIT compiler sees the thread's number as a counter. It returns
 * where all of them left the region, or -1 if that differs; then each thread's place is kept.
 */
final class RegionMethod {
  /*
   * Parameters and locals: as those of a thread's method, but the thread's number and coordinates
   * are at first those of the first thread, and count; where it would resume, the end of the
   * threads; and the method's own.
   */
  private static final int END_LOCAL = Code.RESUME_LOCAL;

  private static final int ROW_END_LOCAL = Code.FIRST_REGISTER_LOCAL - 6;
  private static final int ROW_START_LOCAL = Code.FIRST_REGISTER_LOCAL - 5;
  private static final int ANY_BITS_LOCAL = Code.FIRST_REGISTER_LOCAL - 4;
  private static final int ALL_BITS_LOCAL = Code.FIRST_REGISTER_LOCAL - 3;
  private static final int PLACE_LOCAL = Code.FIRST_REGISTER_LOCAL - 2;
  private static final int MAX_LINE = 65_535;

  private final CodeBuilder cb;
  private final Graph graph;
  private final Region region;
  private final Code code;
  private final OpCode ops;
  private final FrameCode frames;
  private final boolean waits;
  private final Map<BasicBlock, Label> labels = new HashMap<>();
  private final Label threadDone;

  /**
   * A method for a region.
   *
   * @param waits whether threads are kept in frames at its end
   */
  RegionMethod(CodeBuilder cb, Graph graph, Region region, boolean waits) {
    this.cb = cb;
    this.graph = graph;
    this.region = region;
    this.waits = waits;
    code = new Code(cb, waits);
    frames = new FrameCode(code, graph);
    ops = new OpCode(code, frames);
    threadDone = cb.newLabel();
    region.blocks().forEach(block -> labels.put(block, cb.newLabel()));
  }

  private boolean hasOneExit() {
    return region.exits().size() <= 1;
  }

  void emit() {
    cb.loadConstant(ThreadBlock.POLL_TURNS).istore(Code.POLL_LOCAL);
    code.blockField("yieldTurns", ConstantDescs.CD_int);
    cb.istore(Code.YIELD_LOCAL);
    cb.iconst_0().istore(ANY_BITS_LOCAL);
    cb.iconst_m1().istore(ALL_BITS_LOCAL);
    frames.find();
    hoistParameters();
    Label row = cb.newBoundLabel();
    // The row of threads ends with the row of the block, or before.
    cb.iload(Code.THREAD_LOCAL).iload(Code.X_LOCAL).isub().istore(ROW_START_LOCAL);
    cb.iload(END_LOCAL);
    cb.iload(ROW_START_LOCAL);
    code.blockField("ntidX", ConstantDescs.CD_int);
    cb.iadd();
    code.call(Code.MATH, "min", "(II)I");
    cb.istore(ROW_END_LOCAL);
    Label thread = cb.newBoundLabel();
    cb.iload(Code.THREAD_LOCAL).iload(ROW_START_LOCAL).isub().istore(Code.X_LOCAL);
    body();
    cb.labelBinding(threadDone);
    if (!hasOneExit()) {
      keepPlace();
    }
    cb.iinc(Code.THREAD_LOCAL, 1);
    cb.iload(Code.THREAD_LOCAL).iload(ROW_END_LOCAL).if_icmplt(thread);
    Label done = cb.newLabel();
    cb.iload(Code.THREAD_LOCAL).iload(END_LOCAL).if_icmpge(done);
    nextRow();
    cb.goto_(row);
    cb.labelBinding(done);
    result();
  }

  /** Reads the kernel's parameters once: the JIT compiler cannot know that nobody writes them. */
  private void hoistParameters() {
    int local =
        graph.registers().stream()
            .mapToInt(register -> register.local() + register.kind().typeKind().slotSize())
            .max()
            .orElse(0);
    local = Math.max(local, Code.FIRST_REGISTER_LOCAL);
    for (BasicBlock block : region.blocks()) {
      for (Op op : block.ops()) {
        if (op.opcode().equals("ld") && Rematerial.isParameter(op)) {
          local += ops.memory().hoist(op, local);
        }
      }
    }
  }

  private void keepPlace() {
    code.blockField("places", ConstantDescs.CD_int.arrayType());
    cb.iload(Code.THREAD_LOCAL).iload(PLACE_LOCAL).iastore();
    cb.iload(ANY_BITS_LOCAL).iload(PLACE_LOCAL).ior().istore(ANY_BITS_LOCAL);
    cb.iload(ALL_BITS_LOCAL).iload(PLACE_LOCAL).iand().istore(ALL_BITS_LOCAL);
  }

  private void nextRow() {
    Label sameLayer = cb.newLabel();
    cb.iconst_0().istore(Code.X_LOCAL);
    cb.iinc(Code.X_LOCAL + 1, 1);
    cb.iload(Code.X_LOCAL + 1);
    code.blockField("ntidY", ConstantDescs.CD_int);
    cb.if_icmplt(sameLayer);
    cb.iconst_0().istore(Code.X_LOCAL + 1);
    cb.iinc(Code.X_LOCAL + 2, 1);
    cb.labelBinding(sameLayer);
  }

  private void result() {
    if (hasOneExit()) {
      cb.loadConstant(region.exits().isEmpty() ? 0 : region.exits().iterator().next());
      cb.ireturn();
      return;
    }
    Label differ = cb.newLabel();
    cb.iload(ANY_BITS_LOCAL).iload(ALL_BITS_LOCAL).if_icmpne(differ);
    cb.iload(ANY_BITS_LOCAL).ireturn();
    cb.labelBinding(differ);
    cb.iconst_m1().ireturn();
  }

  private void body() {
    forEach(
        region.start().liveIn(), region.start() == graph.entry() ? this::clear : frames::restore);
    List<BasicBlock> order = new ArrayList<>(region.blocks());
    order.remove(region.start());
    order.addFirst(region.start());
    for (int i = 0; i < order.size(); i++) {
      block(order.get(i), i + 1 < order.size() ? order.get(i + 1) : null);
    }
  }

  /** The JVM wants to see a value in what the program may read before writing. */
  private void clear(VReg register) {
    switch (register.kind()) {
      case INT -> cb.iconst_0();
      case LONG -> cb.lconst_0();
      case FLOAT -> cb.fconst_0();
      case DOUBLE -> cb.dconst_0();
    }
    code.store(register);
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
      return source;
    }
    return line;
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
      case Terminator.Select select -> {
        List<BasicBlock> targets = select.targets();
        List<SwitchCase> cases = new ArrayList<>();
        for (int i = 0; i < targets.size(); i++) {
          cases.add(SwitchCase.of(i, labels.get(targets.get(i))));
        }
        code.push(select.index(), io.gpupool.soft.ptx.Type.U32);
        cb.tableswitch(0, targets.size() - 1, labels.get(targets.getLast()), cases);
      }
      case Terminator.Wait wait -> {
        mark(wait.op(), line);
        ops.warp().bring(wait.op(), wait.next().resumeId());
        leave(wait.next(), wait.next().resumeId());
      }
      case Terminator.Latch latch -> {
        int counter = latch.yields() ? Code.YIELD_LOCAL : Code.POLL_LOCAL;
        cb.iinc(counter, -1);
        cb.iload(counter);
        cb.ifgt(labels.get(latch.next()));
        if (latch.yields()) {
          code.blockField("yieldTurns", ConstantDescs.CD_int);
          cb.istore(Code.YIELD_LOCAL);
          leave(latch.next(), latch.next().resumeId());
        } else {
          code.pushBlock();
          code.callBlock("poll", "()I");
          cb.istore(Code.POLL_LOCAL);
          cb.goto_(labels.get(latch.next()));
        }
      }
      case Terminator.Exit _ -> leave(null, 0);
      case Terminator.Call _, Terminator.Return _ ->
          throw new IllegalStateException("a kernel with calls has no regions");
    }
  }

  private void jump(BasicBlock target, BasicBlock next) {
    if (target != next) {
      cb.goto_(labels.get(target));
    }
  }

  /** The thread leaves the region; what it has not changed is in its frame already. */
  private void leave(BasicBlock next, int place) {
    if (next != null && waits) {
      BitSet changed = (BitSet) next.liveIn().clone();
      if (region.start() == graph.entry()) {
        forEach(changed, frames::save);
      } else {
        changed.and(region.written());
        forEach(changed, frames::save);
      }
    }
    if (!hasOneExit()) {
      cb.loadConstant(place).istore(PLACE_LOCAL);
    }
    cb.goto_(threadDone);
  }
}
