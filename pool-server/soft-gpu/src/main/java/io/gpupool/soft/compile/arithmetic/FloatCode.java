// SPDX-License-Identifier: Apache-2.0
package io.gpupool.soft.compile.arithmetic;

import io.gpupool.soft.compile.emit.Code;
import io.gpupool.soft.compile.ir.Op;
import io.gpupool.soft.compile.ir.RefusedException;
import io.gpupool.soft.compile.ir.Value;
import io.gpupool.soft.exec.arithmetic.FloatPairs;
import io.gpupool.soft.exec.arithmetic.Floats;
import io.gpupool.soft.exec.arithmetic.Halves;
import io.gpupool.soft.exec.arithmetic.Rounding;
import io.gpupool.soft.ptx.Type;
import java.lang.classfile.CodeBuilder;
import java.lang.constant.ClassDesc;
import java.util.List;

/** Emitter of single- and double-precision arithmetic. */
public final class FloatCode {
  private final Code code;
  private final CodeBuilder cb;

  public FloatCode(Code code) {
    this.code = code;
    cb = code.cb();
  }

  /** The rounding mode that a modifier names; nearest even if none does. */
  public static int rounding(Op op) {
    if (op.has("rz")) {
      return Rounding.ZERO;
    }
    if (op.has("rm")) {
      return Rounding.DOWN;
    }
    return op.has("rp") ? Rounding.UP : Rounding.NEAREST;
  }

  public boolean emit(Op op) {
    Type type = op.types().getFirst();
    if (type == Type.F32X2) {
      return pairs(op);
    }
    if (type != Type.F32 && type != Type.F64) {
      return false;
    }
    boolean wide = type == Type.F64;
    switch (op.opcode()) {
      case "add", "sub", "mul", "div" -> binary(op, type, wide);
      case "fma", "mad" -> fma(op, type, wide);
      case "neg" -> {
        pushFlushed(op, 0, type);
        if (wide) {
          cb.dneg();
        } else {
          cb.fneg();
        }
      }
      case "abs" -> {
        pushFlushed(op, 0, type);
        code.call(Code.MATH, "abs", wide ? "(D)D" : "(F)F");
      }
      case "min", "max" -> extreme(op, type, wide);
      case "sqrt" -> root(op, type, wide);
      case "rcp" -> reciprocal(op, type, wide);
      case "rsqrt" -> {
        pushFlushed(op, 0, type);
        if (wide) {
          code.call(Code.DOUBLES, op.has("ftz") ? "rsqrtApproxFlush" : "rsqrtApprox", "(D)D");
        } else {
          code.call(Code.FLOATS, "rsqrt", "(F)F");
        }
      }
      case "sin", "cos", "tanh" -> approximate(op, type, op.opcode());
      case "ex2" -> approximate(op, type, "exp2");
      case "lg2" -> approximate(op, type, "log2");
      case "copysign" -> {
        code.push(op.args().get(1), type);
        code.push(op.args().get(0), type);
        code.call(Code.MATH, "copySign", wide ? "(DD)D" : "(FF)F");
        code.pop(op.results().get(0), type);
        return true;
      }
      case "testp" -> {
        test(op, type, wide);
        return true;
      }
      default -> {
        return false;
      }
    }
    finish(op, type);
    return true;
  }

  /** {@code .f32x2}: two single-precision numbers in each register. */
  private boolean pairs(Op op) {
    int operation =
        switch (op.opcode()) {
          case "add" -> FloatPairs.ADD;
          case "sub" -> FloatPairs.SUB;
          case "mul" -> FloatPairs.MUL;
          default -> FloatPairs.FMA;
        };
    code.pushAll(op.args(), Type.B64);
    if (op.args().size() < 3) {
      cb.lconst_0();
    }
    cb.loadConstant(operation);
    cb.loadConstant(rounding(op));
    cb.loadConstant(op.has("ftz") ? 1 : 0);
    code.call(Code.desc(FloatPairs.class), "apply", "(JJJIIZ)J");
    code.pop(op.results().get(0), Type.B64);
    return true;
  }

  private void pushFlushed(Op op, int index, Type type) {
    Type mixed = op.type();
    if (mixed.isHalf() && index + 1 < op.args().size()) {
      // Mixed precision: all operands but the last are halves.
      code.push(op.args().get(index), Type.B16);
      cb.loadConstant(HalfCode.isBrain(mixed) ? Halves.BF16 : Halves.F16);
      code.call(Code.HALVES, "toFloat", "(II)F");
      return;
    }
    code.push(op.args().get(index), type);
    if (type == Type.F32 && op.has("ftz")) {
      code.call(Code.FLOATS, "flush", "(F)F");
    }
  }

  /** Flushes, clamps and stores the result on the stack. */
  private void finish(Op op, Type type) {
    if (type == Type.F32) {
      if (op.has("sat")) {
        code.call(Code.FLOATS, "saturate", "(F)F");
      }
      if (op.has("ftz")) {
        code.call(Code.FLOATS, "flush", "(F)F");
      }
    }
    code.pop(op.results().get(0), type);
  }

  private static ClassDesc owner(boolean wide) {
    return wide ? Code.DOUBLES : Code.FLOATS;
  }

  private void binary(Op op, Type type, boolean wide) {
    pushFlushed(op, 0, type);
    pushFlushed(op, 1, type);
    int mode = rounding(op);
    if (mode != Rounding.NEAREST) {
      String method = op.opcode();
      if (method.equals("sub")) {
        negate(wide);
        method = "add";
      }
      cb.loadConstant(mode);
      code.call(owner(wide), method, wide ? "(DDI)D" : "(FFI)F");
      return;
    }
    switch (op.opcode()) {
      case "add" -> {
        if (wide) {
          cb.dadd();
        } else {
          cb.fadd();
        }
      }
      case "sub" -> {
        if (wide) {
          cb.dsub();
        } else {
          cb.fsub();
        }
      }
      case "mul" -> {
        if (wide) {
          cb.dmul();
        } else {
          cb.fmul();
        }
      }
      default -> {
        if (wide) {
          cb.ddiv();
        } else if (op.has("approx")) {
          code.call(Code.FLOATS, "divApprox", "(FF)F");
        } else {
          cb.fdiv();
        }
      }
    }
  }

  private void negate(boolean wide) {
    if (wide) {
      cb.dneg();
    } else {
      cb.fneg();
    }
  }

  private void fma(Op op, Type type, boolean wide) {
    pushFlushed(op, 0, type);
    pushFlushed(op, 1, type);
    pushFlushed(op, 2, type);
    int mode = rounding(op);
    if (mode == Rounding.NEAREST) {
      code.call(Code.MATH, "fma", wide ? "(DDD)D" : "(FFF)F");
    } else {
      cb.loadConstant(mode);
      code.call(owner(wide), "fma", wide ? "(DDDI)D" : "(FFFI)F");
    }
  }

  private void extreme(Op op, Type type, boolean wide) {
    List<Value> args = op.args();
    String method = op.opcode() + (op.has("NaN") ? "Nan" : "");
    boolean xorSign = op.has("xorsign");
    for (int i = 0; i < args.size(); i++) {
      pushFlushed(op, i, type);
      if (op.has("abs")) {
        code.call(Code.MATH, "abs", "(F)F");
      }
      if (i > 0) {
        code.call(owner(wide), method, wide ? "(DD)D" : "(FF)F");
      }
    }
    if (xorSign) {
      code.push(args.get(0), type);
      code.push(args.get(1), type);
      code.call(Code.FLOATS, "xorSign", "(FFF)F");
    }
  }

  private void root(Op op, Type type, boolean wide) {
    pushFlushed(op, 0, type);
    int mode = rounding(op);
    if (mode != Rounding.NEAREST) {
      cb.loadConstant(mode);
      code.call(owner(wide), "sqrt", wide ? "(DI)D" : "(FI)F");
    } else if (wide) {
      code.call(Code.MATH, "sqrt", "(D)D");
    } else {
      // The root of a 24-bit value, taken with 53 bits, rounds to 24 bits as if exact.
      cb.f2d();
      code.call(Code.MATH, "sqrt", "(D)D");
      cb.d2f();
    }
  }

  private void reciprocal(Op op, Type type, boolean wide) {
    if (wide && op.has("approx")) {
      code.push(op.args().get(0), type);
      code.call(Code.DOUBLES, "rcpApprox", "(D)D");
      return;
    }
    if (wide) {
      cb.dconst_1();
    } else {
      cb.fconst_1();
    }
    pushFlushed(op, 0, type);
    int mode = rounding(op);
    if (mode != Rounding.NEAREST) {
      cb.loadConstant(mode);
      code.call(owner(wide), "div", wide ? "(DDI)D" : "(FFI)F");
    } else if (wide) {
      cb.ddiv();
    } else {
      cb.fdiv();
    }
  }

  private void approximate(Op op, Type type, String method) {
    if (type != Type.F32) {
      throw new RefusedException(op.source(), "is not supported");
    }
    pushFlushed(op, 0, type);
    code.call(Code.FLOATS, method, "(F)F");
  }

  private void test(Op op, Type type, boolean wide) {
    code.push(op.args().get(0), type);
    int property =
        op.has("finite")
            ? Floats.FINITE
            : op.has("infinite")
                ? Floats.INFINITE
                : op.has("number")
                    ? Floats.NUMBER
                    : op.has("notanumber")
                        ? Floats.NOT_A_NUMBER
                        : op.has("normal") ? Floats.NORMAL : Floats.SUBNORMAL;
    cb.loadConstant(property);
    code.call(Code.FLOATS, "test", wide ? "(DI)I" : "(FI)I");
    code.popPredicate(op.results().get(0));
  }
}
