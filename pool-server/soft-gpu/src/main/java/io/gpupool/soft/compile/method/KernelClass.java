// SPDX-License-Identifier: Apache-2.0
package io.gpupool.soft.compile.method;

import io.gpupool.soft.compile.emit.Code;
import io.gpupool.soft.compile.ir.Graph;
import io.gpupool.soft.exec.block.KernelCode;
import java.lang.classfile.ClassBuilder;
import java.lang.classfile.ClassFile;
import java.lang.classfile.CodeBuilder;
import java.lang.classfile.Label;
import java.lang.classfile.instruction.SwitchCase;
import java.lang.constant.ClassDesc;
import java.lang.constant.ConstantDescs;
import java.lang.constant.MethodTypeDesc;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/** Writer of the class of a kernel: the code of one thread, and a loop over a block's threads. */
public final class KernelClass {
  static final String THREAD = "thread";
  static final MethodTypeDesc THREAD_TYPE =
      MethodTypeDesc.ofDescriptor("(" + Code.BLOCK.descriptorString() + "IIIII)I");

  private static final String REGION = "region";
  private static final MethodTypeDesc REGION_TYPE =
      MethodTypeDesc.ofDescriptor("(" + Code.BLOCK.descriptorString() + "IIIIII)I");

  private final ClassDesc self;
  private final Graph graph;
  private final MethodPlan plan;
  private final List<Region> regions;

  private KernelClass(ClassDesc self, Graph graph, MethodPlan plan, List<Region> regions) {
    this.self = self;
    this.graph = graph;
    this.plan = plan;
    this.regions = regions;
  }

  /** Writes the class file. */
  public static byte[] write(String className, Graph graph, MethodPlan plan, List<Region> regions) {
    return new KernelClass(ClassDesc.of(className), graph, plan, regions).bytes();
  }

  private byte[] bytes() {
    return ClassFile.of()
        .build(
            self,
            builder -> {
              builder
                  .withFlags(ClassFile.ACC_PUBLIC | ClassFile.ACC_FINAL)
                  .withInterfaceSymbols(Code.desc(KernelCode.class))
                  .withMethodBody(
                      ConstantDescs.INIT_NAME,
                      ConstantDescs.MTD_void,
                      ClassFile.ACC_PUBLIC,
                      KernelClass::constructor)
                  .withMethodBody("run", THREAD_TYPE, ClassFile.ACC_PUBLIC, this::run)
                  .withMethodBody(
                      "runAll",
                      MethodTypeDesc.of(ConstantDescs.CD_void, Code.BLOCK),
                      ClassFile.ACC_PUBLIC,
                      this::runAll)
                  .withMethodBody("runRegion", REGION_TYPE, ClassFile.ACC_PUBLIC, this::runRegion);
              threadMethods(builder);
              regionMethods(builder);
            });
  }

  private void threadMethods(ClassBuilder builder) {
    int flags = ClassFile.ACC_PRIVATE | ClassFile.ACC_STATIC;
    int parts = plan.parts().size();
    if (parts == 1) {
      builder.withMethodBody(
          THREAD, THREAD_TYPE, flags, cb -> new ThreadMethod(cb, graph, plan, 0).emit());
      return;
    }
    for (int i = 0; i < parts; i++) {
      int part = i;
      builder.withMethodBody(
          THREAD + part, THREAD_TYPE, flags, cb -> new ThreadMethod(cb, graph, plan, part).emit());
    }
    builder.withMethodBody(
        THREAD,
        THREAD_TYPE,
        flags,
        cb ->
            ThreadMethod.emitDispatcher(
                cb,
                plan,
                plan.waits(graph),
                part -> cb.invokestatic(self, THREAD + part, THREAD_TYPE)));
  }

  private void regionMethods(ClassBuilder builder) {
    boolean waits = plan.waits(graph);
    for (Region region : regions) {
      builder.withMethodBody(
          REGION + region.start().resumeId(),
          THREAD_TYPE,
          ClassFile.ACC_PRIVATE | ClassFile.ACC_STATIC,
          cb -> new RegionMethod(cb, graph, region, waits).emit());
    }
  }

  /** Calls the method of the region whose number stands second. */
  private void runRegion(CodeBuilder cb) {
    Map<Integer, Label> labels = new TreeMap<>();
    List<SwitchCase> cases = new ArrayList<>();
    Label none = cb.newLabel();
    for (Region region : regions) {
      Label label = cb.newLabel();
      labels.put(region.start().resumeId(), label);
      cases.add(SwitchCase.of(region.start().resumeId(), label));
    }
    cb.iload(2);
    cb.lookupswitch(none, cases);
    labels.forEach((number, label) -> {
      cb.labelBinding(label);
      cb.aload(1);
      for (int slot = 3; slot <= 7; slot++) {
        cb.iload(slot);
      }
      cb.invokestatic(self, REGION + number, THREAD_TYPE);
      cb.ireturn();
    });
    cb.labelBinding(none);
    cb.iconst_m1();
    cb.ireturn();
  }

  private static void constructor(CodeBuilder cb) {
    cb.aload(0);
    cb.invokespecial(ConstantDescs.CD_Object, ConstantDescs.INIT_NAME, ConstantDescs.MTD_void);
    cb.return_();
  }

  private void run(CodeBuilder cb) {
    cb.aload(1);
    for (int slot = 2; slot <= 6; slot++) {
      cb.iload(slot);
    }
    cb.invokestatic(self, THREAD, THREAD_TYPE);
    cb.ireturn();
  }

  private static final int SELF_BLOCK = 1;
  private static final int SIZE_X = 2;
  private static final int SIZE_Y = 3;
  private static final int SIZE_Z = 4;
  private static final int THREAD_INDEX = 5;
  private static final int X = 6;
  private static final int Y = 7;
  private static final int Z = 8;

  /** For z, y, x: thread(block, index++, x, y, z, 0). */
  private void runAll(CodeBuilder cb) {
    if (!regions.isEmpty()) {
      cb.aload(SELF_BLOCK);
      for (int i = 0; i < 4; i++) {
        cb.iconst_0();
      }
      cb.aload(SELF_BLOCK).invokevirtual(Code.BLOCK, "threads", MethodTypeDesc.ofDescriptor("()I"));
      cb.invokestatic(self, REGION + 0, THREAD_TYPE);
      cb.pop().return_();
      return;
    }
    loadField(cb, "ntidX", SIZE_X);
    loadField(cb, "ntidY", SIZE_Y);
    loadField(cb, "ntidZ", SIZE_Z);
    zero(cb, THREAD_INDEX);
    zero(cb, Z);
    Label atZ = cb.newBoundLabel();
    zero(cb, Y);
    Label atY = cb.newBoundLabel();
    zero(cb, X);
    Label atX = cb.newBoundLabel();
    cb.aload(SELF_BLOCK);
    cb.iload(THREAD_INDEX);
    cb.iload(X);
    cb.iload(Y);
    cb.iload(Z);
    cb.iconst_0();
    cb.invokestatic(self, THREAD, THREAD_TYPE);
    cb.pop();
    cb.iinc(THREAD_INDEX, 1);
    next(cb, X, SIZE_X, atX);
    next(cb, Y, SIZE_Y, atY);
    next(cb, Z, SIZE_Z, atZ);
    cb.return_();
  }

  private static void loadField(CodeBuilder cb, String field, int slot) {
    cb.aload(SELF_BLOCK);
    cb.getfield(Code.BLOCK, field, ConstantDescs.CD_int);
    cb.istore(slot);
  }

  private static void zero(CodeBuilder cb, int slot) {
    cb.iconst_0();
    cb.istore(slot);
  }

  private static void next(CodeBuilder cb, int slot, int limit, Label again) {
    cb.iinc(slot, 1);
    cb.iload(slot);
    cb.iload(limit);
    cb.if_icmplt(again);
  }
}
