// SPDX-License-Identifier: Apache-2.0
package io.gpupool.soft.compile.arithmetic;

import io.gpupool.soft.compile.emit.Code;
import io.gpupool.soft.compile.ir.Op;
import io.gpupool.soft.compile.ir.Value;
import io.gpupool.soft.exec.arithmetic.Halves;
import io.gpupool.soft.ptx.Type;
import java.lang.classfile.CodeBuilder;
import java.util.List;

/** Emitter of half-precision arithmetic, single or in pairs. */
public final class HalfCode {
  private final Code code;
  private final CodeBuilder cb;

  public HalfCode(Code code) {
    this.code = code;
    cb = code.cb();
  }

  public boolean emit(Op op) {
    Type type = op.type();
    int operation =
        switch (op.opcode()) {
          case "add" -> Halves.ADD;
          case "sub" -> Halves.SUB;
          case "mul" -> Halves.MUL;
          case "fma" -> Halves.FMA;
          case "min" -> Halves.MIN;
          case "max" -> Halves.MAX;
          case "neg" -> Halves.NEG;
          case "abs" -> Halves.ABS;
          case "ex2" -> Halves.EX2;
          case "tanh" -> Halves.TANH;
          default -> -1;
        };
    if (operation < 0 || op.args().size() > 3) {
      return false;
    }
    boolean pair = type.bits() == 32;
    cb.loadConstant(isBrain(type) ? Halves.BF16 : Halves.F16);
    cb.loadConstant(operation);
    List<Value> args = op.args();
    for (int i = 0; i < 3; i++) {
      if (i < args.size()) {
        code.push(args.get(i), pair ? Type.B32 : Type.B16);
      } else {
        cb.iconst_0();
      }
    }
    cb.loadConstant(flags(op));
    code.call(Code.HALVES, pair ? "applyPair" : "apply", "(IIIIII)I");
    code.pop(op.results().get(0), pair ? Type.B32 : Type.B16);
    return true;
  }

  static boolean isBrain(Type type) {
    return type == Type.BF16 || type == Type.BF16X2;
  }

  private static int flags(Op op) {
    return (op.has("ftz") ? Halves.FLUSH : 0)
        | (op.has("sat") ? Halves.SATURATE : 0)
        | (op.has("relu") ? Halves.RELU : 0)
        | (op.has("NaN") ? Halves.PASS_NAN : 0)
        | (op.has("xorsign") ? Halves.XOR_SIGN : 0);
  }
}
