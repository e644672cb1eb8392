// SPDX-License-Identifier: Apache-2.0
package io.gpupool.soft.compile.method;

import static java.util.Objects.requireNonNull;

import io.gpupool.soft.compile.emit.AddressCode;
import io.gpupool.soft.compile.emit.Code;
import io.gpupool.soft.compile.ir.BasicBlock;
import io.gpupool.soft.compile.ir.Graph;
import io.gpupool.soft.compile.ir.Op;
import io.gpupool.soft.compile.ir.Terminator;
import io.gpupool.soft.compile.ir.Value;
import io.gpupool.soft.compile.passes.AffineStrides;
import io.gpupool.soft.compile.passes.Recipes;
import io.gpupool.soft.exec.block.ThreadBlock;
import io.gpupool.soft.ptx.Type;
import java.lang.classfile.CodeBuilder;
import java.lang.classfile.Label;
import java.lang.constant.ConstantDescs;
import java.util.BitSet;
import java.util.HashMap;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * Emitter of a method that runs a region for some neighbouring threads, one after the other: a loop
 * over the threads of a row, in which the JIT compiler sees the thread's number as a counter. Where
 * the addresses of loads and stores grow evenly along the row, all of them are checked before it
 * begins; a row that passes goes through a loop without those checks. The method returns where all
 * threads left the region, or -1 if that differs; then each thread's place is kept.
 */
final class RegionMethod extends BlockMethod {
  /*
   * Parameters and locals: as those of a thread's method, but the thread's number and coordinates
   * are at first those of the first thread, and count; where it would resume, the end of the
   * threads; and the method's own.
   */
  private static final int END_LOCAL = Code.RESUME_LOCAL;

  private static final int STEPS_LOCAL = Code.FIRST_REGISTER_LOCAL - 1;
  private static final int ROW_END_LOCAL = Code.FIRST_REGISTER_LOCAL - 6;
  private static final int ROW_START_LOCAL = Code.FIRST_REGISTER_LOCAL - 5;
  private static final int ANY_BITS_LOCAL = Code.FIRST_REGISTER_LOCAL - 4;
  private static final int ALL_BITS_LOCAL = Code.FIRST_REGISTER_LOCAL - 3;
  private static final int PLACE_LOCAL = Code.FIRST_REGISTER_LOCAL - 2;

  /** Longest code, roughly in bytes, that is worth having twice. */
  private static final int MAX_TWICE_BYTES = 3_000;

  /** Threads that a row must have for a look at its accesses to be worth it. */
  private static final int MIN_STEPS = 7;

  private final Region region;
  private final boolean waits;
  private final StridedAccesses even;
  private final Map<BasicBlock, Label> labels = new HashMap<>();
  private Label threadDone;

  /** First local behind those of registers. */
  private int freeLocal;

  /**
   * A method for a region.
   *
   * @param waits whether threads are kept in frames at its end
   */
  RegionMethod(CodeBuilder cb, Graph graph, Region region, boolean waits) {
    super(cb, graph, waits);
    this.region = region;
    this.waits = waits;
    even =
        MethodPlan.weight(graph, region.blocks()) <= MAX_TWICE_BYTES
            ? StridedAccesses.of(graph, region)
            : StridedAccesses.NONE;
    threadDone = cb.newLabel();
    freeLocal =
        graph.registers().stream()
            .mapToInt(register -> register.local() + register.kind().typeKind().slotSize())
            .max()
            .orElse(0);
    freeLocal = Math.max(freeLocal, Code.FIRST_REGISTER_LOCAL);
  }

  private boolean hasOneExit() {
    return region.exits().size() <= 1;
  }

  void emit() {
    Label start = cb.newBoundLabel();
    cb.loadConstant(ThreadBlock.POLL_TURNS).istore(Code.POLL_LOCAL);
    readYieldTurns();
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
    Label rowDone = cb.newLabel();
    if (!even.slopes().isEmpty()) {
      Label oneByOne = cb.newLabel();
      checkRow(oneByOne);
      threads();
      cb.goto_(rowDone);
      ops.addresses().forgetChecked();
      cb.labelBinding(oneByOne);
    }
    threads();
    cb.labelBinding(rowDone);
    Label done = cb.newLabel();
    cb.iload(Code.THREAD_LOCAL).iload(END_LOCAL).if_icmpge(done);
    nextRow();
    cb.goto_(row);
    cb.labelBinding(done);
    result();
    noteFaults(start);
  }

  /** Reads the kernel's parameters once: the JIT compiler cannot know that nobody writes them. */
  private void hoistParameters() {
    for (BasicBlock block : region.blocks()) {
      for (Op op : block.ops()) {
        if (op.opcode().equals("ld") && Recipes.isParameter(op)) {
          freeLocal += ops.memory().hoist(op, freeLocal);
        }
      }
    }
  }

  /** Computes the first thread's addresses and jumps if not every thread's are good. */
  private void checkRow(Label oneByOne) {
    cb.iload(ROW_END_LOCAL).iload(Code.THREAD_LOCAL).isub().iconst_1().isub();
    cb.dup().istore(STEPS_LOCAL);
    cb.loadConstant(MIN_STEPS).if_icmplt(oneByOne);
    for (Op op : even.steps()) {
      Long slope = even.slopes().get(op);
      if (slope != null) {
        checkRow(op, slope, oneByOne);
      }
      if (even.isNeeded(op)) {
        Type source = op.types().getLast();
        AffineStrides strides = requireNonNull(even.values());
        for (Value value : strides.widened(op)) {
          code.push(value, source);
          cb.loadConstant((long) (int) strides.of(value).getAsLong());
          cb.iload(STEPS_LOCAL);
          code.call(
              Code.ADDRESS_TRANSLATION,
              source.isSigned() ? "staysSigned" : "staysUnsigned",
              "(IJI)Z");
          cb.ifeq(oneByOne);
        }
        ops.emit(op);
      }
    }
  }

  private void checkRow(Op op, long slope, Label oneByOne) {
    int local = freeLocal;
    freeLocal += 2;
    ops.addresses().pushUnchecked(op);
    cb.lstore(local);
    code.pushBlock();
    cb.lload(local).loadConstant(slope).iload(STEPS_LOCAL).loadConstant(op.accessedBytes());
    code.call(Code.ADDRESS_TRANSLATION, "row", "(" + AddressCode.block() + "JJII)Z");
    cb.ifeq(oneByOne);
    if (slope != 0) {
      cb.lload(local).iload(Code.THREAD_LOCAL).i2l().loadConstant(slope).lmul().lsub();
      cb.lstore(local);
    }
    ops.addresses().check(op, local, slope);
  }

  /** The loop over the threads of a row. */
  private void threads() {
    threadDone = cb.newLabel();
    region.blocks().forEach(block -> labels.put(block, cb.newLabel()));
    Label thread = cb.newBoundLabel();
    cb.iload(Code.THREAD_LOCAL).iload(ROW_START_LOCAL).isub().istore(Code.X_LOCAL);
    body();
    cb.labelBinding(threadDone);
    if (!hasOneExit()) {
      keepPlace();
    }
    cb.iinc(Code.THREAD_LOCAL, 1);
    cb.iload(Code.THREAD_LOCAL).iload(ROW_END_LOCAL).if_icmplt(thread);
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
    emit(region.blocks());
  }

  @Override
  Label label(BasicBlock block) {
    return requireNonNull(labels.get(block));
  }

  @Override
  boolean turns(BasicBlock latch) {
    return region.turning().contains(latch);
  }

  @Override
  void comeTo(Terminator.Wait wait) {
    ops.warp().bring(wait.op(), wait.next().resumeId());
    leave(wait.next(), wait.next().resumeId());
  }

  @Override
  void giveWay(BasicBlock next) {
    readYieldTurns();
    leave(next, next.resumeId());
  }

  @Override
  void end() {
    leave(null, 0);
  }

  @Override
  void call(Terminator.Call call) {
    throw new IllegalStateException("a kernel with calls has no regions");
  }

  @Override
  void goBack() {
    throw new IllegalStateException("a kernel with calls has no regions");
  }

  /** The thread leaves the region; what it has not changed is in its frame already. */
  private void leave(@Nullable BasicBlock next, int place) {
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
