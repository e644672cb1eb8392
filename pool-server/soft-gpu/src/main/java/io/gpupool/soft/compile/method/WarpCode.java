// SPDX-License-Identifier: Apache-2.0
package io.gpupool.soft.compile.method;

import io.gpupool.soft.compile.emit.AddressCode;
import io.gpupool.soft.compile.emit.Code;
import io.gpupool.soft.compile.ir.Op;
import io.gpupool.soft.compile.ir.RefusedException;
import io.gpupool.soft.compile.ir.VReg;
import io.gpupool.soft.compile.ir.Value;
import io.gpupool.soft.compile.lowering.Waits;
import io.gpupool.soft.exec.block.ClusterSync;
import io.gpupool.soft.exec.block.WarpResults;
import io.gpupool.soft.exec.launch.RegionTable;
import io.gpupool.soft.ptx.Type;
import java.lang.classfile.CodeBuilder;
import java.lang.constant.ClassDesc;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** Emitter of arrivals at barriers and warp-wide operations. */
final class WarpCode {
  private static final ClassDesc CLUSTER = Code.desc(ClusterSync.class);

  /** Numbers of the reductions of {@code bar.red}, as the barriers know them. */
  private static final List<String> REDUCTIONS = List.of("", "popc", "and", "or");

  private final Code code;
  private final CodeBuilder cb;
  private final MatrixCode matrices;

  /** Whether values are only laid down, for whoever runs the warp. */
  private boolean brings;

  WarpCode(Code code, MatrixCode matrices) {
    this.code = code;
    this.matrices = matrices;
    cb = code.cb();
  }

  /** What kind of wait it is for those who run regions. */
  static byte kind(Op op) {
    return switch (op.opcode()) {
      case "shfl", "vote", "match", "redux", "elect" ->
          op.has("sync") ? RegionTable.WARP : RegionTable.OTHER;
      case "bar", "barrier" -> {
        if (op.has("cluster")) {
          yield RegionTable.OTHER;
        }
        if (op.has("warp")) {
          yield RegionTable.WARP;
        }
        yield isForAll(op) ? RegionTable.BARRIER : RegionTable.OTHER;
      }
      default -> Waits.isMatrixWait(op.source()) ? RegionTable.WARP : RegionTable.OTHER;
    };
  }

  private static boolean isForAll(Op op) {
    return op.args().size() == 1
        && op.args().get(0) instanceof Value.Int(long id)
        && id >= 0
        && id < 16;
  }

  /** Number of the barrier, or of the warp's operation. */
  static int number(Op op) {
    return switch (kind(op)) {
      case RegionTable.BARRIER -> (int) ((Value.Int) op.args().get(0)).value();
      case RegionTable.WARP -> operation(op);
      default -> 0;
    };
  }

  /** Emits what a thread does at a wait before its region ends. */
  void bring(Op op, int resumeId) {
    switch (kind(op)) {
      case RegionTable.BARRIER -> {}
      case RegionTable.WARP -> {
        brings = true;
        arrive(op, resumeId);
        brings = false;
      }
      default -> {
        arrive(op, resumeId);
        cb.pop();
      }
    }
  }

  /** Emits an arrival; pushes whether the thread may go on at once. */
  void arrive(Op op, int resumeId) {
    List<Value> args = op.args();
    switch (op.opcode()) {
      case "nanosleep" -> cb.iconst_0();
      case "bar", "barrier" -> {
        if (op.has("cluster")) {
          code.pushBlock();
          code.pushThread();
          code.call(CLUSTER, "await", "(" + AddressCode.block() + "I)Z");
        } else if (op.has("warp")) {
          warp(operation(op), args.get(0), null, null, null);
        } else {
          barrier(op);
        }
      }
      case "activemask" -> {
        code.pushBlock();
        code.pushThread();
        cb.loadConstant(WarpResults.VOTE_BALLOT);
        cb.iconst_0();
        cb.lconst_1();
        cb.iconst_0();
        cb.loadConstant(resumeId);
        callWarp();
      }
      default -> warpOperation(op);
    }
  }

  private void warpOperation(Op op) {
    if (!op.has("sync")) {
      throw new RefusedException(op.source(), "without .sync is not supported");
    }
    List<Value> args = op.args();
    switch (op.opcode()) {
      case "shfl" -> {
        code.pushBlock();
        code.pushThread();
        cb.loadConstant(operation(op));
        code.push(args.get(3), Type.B32);
        code.push(args.get(0), Type.B32);
        cb.i2l();
        code.push(args.get(1), Type.B32);
        code.push(args.get(2), Type.B32);
        callWarp();
      }
      case "vote" -> warp(operation(op), args.get(1), args.get(0), Type.PRED, null);
      case "match" -> {
        Type type = op.type().bits() == 64 ? Type.B64 : Type.B32;
        warp(operation(op), args.get(1), args.get(0), type, null);
      }
      case "redux" -> warp(operation(op), args.get(1), args.get(0), Type.B32, null);
      case "elect" -> warp(operation(op), args.get(0), null, null, null);
      default -> {
        matrices.lay(op);
        matrices.tellRow(op);
        code.pushBlock();
        code.pushThread();
        cb.loadConstant(MatrixCode.operation(op));
        cb.iconst_m1();
        cb.lconst_0();
        cb.iconst_0();
        cb.iconst_0();
        callWarp();
      }
    }
  }

  private static int operation(Op op) {
    return switch (op.opcode()) {
      case "shfl" ->
          op.has("up")
              ? WarpResults.SHFL_UP
              : op.has("down")
                  ? WarpResults.SHFL_DOWN
                  : op.has("bfly") ? WarpResults.SHFL_BFLY : WarpResults.SHFL_IDX;
      case "vote" ->
          op.has("ballot")
              ? WarpResults.VOTE_BALLOT
              : op.has("any")
                  ? WarpResults.VOTE_ANY
                  : op.has("all") ? WarpResults.VOTE_ALL : WarpResults.VOTE_UNI;
      case "match" -> op.has("any") ? WarpResults.MATCH_ANY : WarpResults.MATCH_ALL;
      case "redux" -> redux(op);
      case "elect" -> WarpResults.ELECT;
      case "bar", "barrier" -> WarpResults.SYNC;
      default -> MatrixCode.operation(op);
    };
  }

  private static int redux(Op op) {
    Type type = op.type();
    if (type.isFloat()) {
      throw new RefusedException(op.source(), "is not supported");
    }
    if (op.has("add")) {
      return WarpResults.REDUX_ADD;
    }
    if (op.has("min")) {
      return type.isSigned() ? WarpResults.REDUX_MIN : WarpResults.REDUX_MIN_UNSIGNED;
    }
    if (op.has("max")) {
      return type.isSigned() ? WarpResults.REDUX_MAX : WarpResults.REDUX_MAX_UNSIGNED;
    }
    if (op.has("and")) {
      return WarpResults.REDUX_AND;
    }
    return op.has("or") ? WarpResults.REDUX_OR : WarpResults.REDUX_XOR;
  }

  private void warp(
      int operation,
      Value mask,
      @Nullable Value value,
      @Nullable Type type,
      @Nullable Value argument) {
    code.pushBlock();
    code.pushThread();
    cb.loadConstant(operation);
    code.push(mask, Type.B32);
    if (value == null || type == null) {
      cb.lconst_0();
    } else {
      code.push(value, type);
      if (type.bits() < 64) {
        cb.i2l();
      }
    }
    if (argument == null) {
      cb.iconst_0();
    } else {
      code.push(argument, Type.B32);
    }
    cb.iconst_0();
    callWarp();
  }

  private void callWarp() {
    if (brings) {
      code.callBlock("bring", "(IIIJII)V");
    } else {
      code.callBlock("warp", "(IIIJII)Z");
    }
  }

  private void barrier(Op op) {
    List<Value> args = op.args();
    code.pushBlock();
    code.pushThread();
    code.push(args.get(0), Type.U32);
    boolean known = args.get(0) instanceof Value.Int(long id) && id >= 0 && id < 16;
    if (args.size() == 1 && known) {
      code.callBlock("barrierAll", "(II)Z");
      return;
    }
    if (!op.has("red")) {
      pushCount(args, 1);
      code.callBlock("barrier", "(III)Z");
      return;
    }
    pushCount(args, 2);
    int reduction = 0;
    for (String modifier : op.modifiers()) {
      reduction = Math.max(reduction, REDUCTIONS.indexOf(modifier));
    }
    cb.loadConstant(reduction);
    code.push(args.get(args.size() - 1), Type.PRED);
    code.callBlock("barrierReduce", "(IIIII)Z");
  }

  /** Pushes the thread count, which stands second if there are that many operands. */
  private void pushCount(List<Value> args, int withoutCount) {
    if (args.size() > withoutCount) {
      code.push(args.get(1), Type.U32);
    } else {
      cb.iconst_0();
    }
  }

  boolean arriveOnly(Op op) {
    if (op.has("cluster")) {
      code.pushBlock();
      code.pushThread();
      code.call(CLUSTER, "arrive", "(" + AddressCode.block() + "I)V");
      return true;
    }
    if (op.args().size() < 2) {
      return false;
    }
    code.pushBlock();
    code.pushThread();
    code.pushAll(op.args(), Type.U32);
    code.callBlock("barrierArrive", "(III)V");
    return true;
  }

  /** Stores what a wait brought. */
  boolean take(Op op) {
    if (Waits.isMatrixWait(op.source())) {
      return matrices.take(op);
    }
    for (int i = 0; i < op.results().size(); i++) {
      VReg result = op.results().get(i);
      if (result == null) {
        continue;
      }
      code.pushBlock();
      code.pushThread();
      if (i > 0 || result.type() == Type.PRED) {
        code.callBlock("resultPredicate", "(I)I");
        code.popPredicate(result);
      } else {
        code.callBlock("resultInt", "(I)I");
        code.pop(result, Type.B32);
      }
    }
    return true;
  }
}
