// SPDX-License-Identifier: Apache-2.0
package io.gpupool.soft.compile.emit;

import io.gpupool.soft.exec.register.BlockRegisters;
import io.gpupool.soft.exec.register.ClusterRegisters;
import io.gpupool.soft.exec.register.GlobalTimer;
import java.lang.classfile.CodeBuilder;
import java.lang.constant.ClassDesc;
import java.lang.constant.ConstantDescs;

/** Emitter of reads of special registers. */
final class SpecialCode {
  private static final ClassDesc BLOCK_REGISTERS = Code.desc(BlockRegisters.class);
  private static final ClassDesc CLUSTER = Code.desc(ClusterRegisters.class);

  private final Code code;
  private final CodeBuilder cb;

  SpecialCode(Code code) {
    this.code = code;
    cb = code.cb();
  }

  /** Pushes a special register: a long if it has 64 bits, else an int. */
  void push(String name) {
    int dot = name.indexOf('.');
    if (dot > 0) {
      axis(name.substring(0, dot), name.charAt(dot + 1));
      return;
    }
    switch (name) {
      case "%laneid" -> {
        code.pushThread();
        cb.loadConstant(31);
        cb.iand();
      }
      case "%warpid" -> {
        code.pushThread();
        cb.iconst_5();
        cb.ishr();
      }
      case "%nwarpid" -> block("nwarpid");
      case "%smid" -> block("smid");
      case "%nsmid" -> block("nsmid");
      case "%clock" -> {
        time();
        cb.l2i();
      }
      case "%clock_hi" -> high();
      case "%clock64" -> time();
      case "%globaltimer" -> globalTime();
      case "%globaltimer_lo" -> {
        globalTime();
        cb.l2i();
      }
      case "%globaltimer_hi" -> {
        globalTime();
        cb.loadConstant(32);
        cb.lushr();
        cb.l2i();
      }
      case "%lanemask_eq" -> lanes(1, 0);
      case "%lanemask_lt" -> lanes(1, -1);
      case "%lanemask_le" -> lanes(2, -1);
      case "%lanemask_ge" -> {
        lanes(1, -1);
        complement();
      }
      case "%lanemask_gt" -> {
        lanes(2, -1);
        complement();
      }
      case "%total_smem_size", "%aggr_smem_size" ->
          code.blockField("sharedBytes", ConstantDescs.CD_int);
      case "%dynamic_smem_size" -> block("dynamicSharedBytes");
      case "%gridid" -> cb.lconst_1();
      case "%current_graph_exec" -> cb.lconst_0();
      case "%cluster_nctarank" -> cluster("nctarank");
      case "%cluster_ctarank" -> cluster("ctarank");
      case "%is_explicit_cluster" -> cluster("isExplicit");
      default -> other(name);
    }
  }

  private void other(String name) {
    if (name.startsWith("%envreg")) {
      code.pushBlock();
      cb.loadConstant(Integer.parseInt(name.substring("%envreg".length())));
      code.call(BLOCK_REGISTERS, "envreg", "(" + AddressCode.block() + "I)I");
    } else if (name.startsWith("%pm") && name.endsWith("_64")) {
      cb.lconst_0();
    } else if (name.equals("%reserved_smem_offset_end")) {
      block("reservedSharedEnd");
    } else if (name.startsWith("%reserved_smem_offset") && !name.endsWith("_cap")) {
      block("reservedSharedStart");
    } else {
      cb.iconst_0();
    }
  }

  private void axis(String vector, char axis) {
    switch (vector) {
      case "%tid" -> cb.iload(Code.X_LOCAL + axis - 'x');
      case "%ntid" -> field("ntid", axis);
      case "%ctaid" -> field("ctaid", axis);
      case "%nctaid" -> field("nctaid", axis);
      case "%clusterid" -> cluster("clusterid", axis);
      case "%nclusterid" -> cluster("nclusterid", axis);
      case "%cluster_ctaid" -> cluster("ctaid", axis);
      case "%cluster_nctaid" -> cluster("nctaid", axis);
      default -> cb.iconst_0();
    }
  }

  private void field(String prefix, char axis) {
    code.blockField(prefix + Character.toUpperCase(axis), ConstantDescs.CD_int);
  }

  private void cluster(String method) {
    code.pushBlock();
    code.call(CLUSTER, method, "(" + AddressCode.block() + ")I");
  }

  private void cluster(String method, char axis) {
    code.pushBlock();
    cb.loadConstant(axis - 'x');
    code.call(CLUSTER, method, "(" + AddressCode.block() + "I)I");
  }

  private void block(String method) {
    code.pushBlock();
    code.call(BLOCK_REGISTERS, method, "(" + AddressCode.block() + ")I");
  }

  private void time() {
    code.call(Code.desc(System.class), "nanoTime", "()J");
    giveWay();
  }

  private void globalTime() {
    code.call(Code.desc(GlobalTimer.class), "nanos", "()J");
    giveWay();
  }

  /** A loop that reads a clock at each turn lets other threads have theirs: time passes for all. */
  private void giveWay() {
    cb.iconst_1();
    cb.istore(Code.YIELD_LOCAL);
  }

  private void high() {
    time();
    cb.loadConstant(32);
    cb.lushr();
    cb.l2i();
  }

  /** Pushes {@code (bit << lane) + add}. */
  private void lanes(int bit, int add) {
    cb.loadConstant(bit);
    code.pushThread();
    cb.ishl();
    if (add != 0) {
      cb.loadConstant(add);
      cb.iadd();
    }
  }

  private void complement() {
    cb.iconst_m1();
    cb.ixor();
  }
}
