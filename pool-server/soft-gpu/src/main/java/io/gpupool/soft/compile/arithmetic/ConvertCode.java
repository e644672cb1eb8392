// SPDX-License-Identifier: Apache-2.0
package io.gpupool.soft.compile.arithmetic;

import io.gpupool.soft.compile.emit.Code;
import io.gpupool.soft.compile.ir.Op;
import io.gpupool.soft.compile.ir.Value;
import io.gpupool.soft.exec.arithmetic.Halves;
import io.gpupool.soft.exec.arithmetic.Rounding;
import io.gpupool.soft.exec.arithmetic.SmallFloats;
import io.gpupool.soft.ptx.Type;
import java.lang.classfile.CodeBuilder;
import java.util.List;

/** Emitter of conversions between types. */
public final class ConvertCode {
  private final Code code;
  private final CodeBuilder cb;

  public ConvertCode(Code code) {
    this.code = code;
    cb = code.cb();
  }

  public boolean emit(Op op) {
    List<Type> types = op.types();
    if (op.has("pack")) {
      return pack(op);
    }
    if (types.size() != 2) {
      return false;
    }
    Type to = types.get(0);
    Type from = types.get(1);
    if (isSmall(to) || isSmall(from)) {
      return small(op, to, from);
    }
    if (isPair(to)) {
      return pair(op, to, from);
    }
    if (to == Type.TF32) {
      toTf32(op);
      code.pop(op.results().get(0), Type.F32);
      return true;
    }
    if (isOdd(to) || isOdd(from)) {
      return false;
    }
    if (!to.isFloat() && !from.isFloat()) {
      integers(op, to, from);
    } else if (!from.isFloat()) {
      toFloat(op, to, from);
    } else if (!to.isFloat()) {
      toInteger(op, to, from);
    } else {
      floats(op, to, from);
    }
    return true;
  }

  private void toTf32(Op op) {
    code.push(op.args().get(0), Type.F32);
    if (op.has("rna")) {
      code.call(Code.CONVERSIONS, "toTf32", "(F)F");
    } else {
      cb.loadConstant(op.has("rz") ? 1 : 0);
      code.call(Code.CONVERSIONS, "toTf32", "(FZ)F");
    }
    if (op.has("satfinite")) {
      code.call(Code.CONVERSIONS, "finiteTf32", "(F)F");
    }
    if (op.has("relu")) {
      code.call(Code.FLOATS, "relu", "(F)F");
    }
  }

  private static boolean isPair(Type type) {
    return type == Type.F16X2 || type == Type.BF16X2;
  }

  /** Types that no conversion here knows. */
  private static boolean isOdd(Type type) {
    return switch (type) {
      case PRED, B128, TF32, F16X2, BF16X2, F32X2, U16X2, S16X2, E4M3X2, E5M2X2 -> true;
      default -> false;
    };
  }

  private boolean pack(Op op) {
    // Types below 8 bits exist here alone: s2, u4 and so on.
    String to = op.modifiers().get(2);
    code.push(op.args().get(0), Type.S32);
    code.push(op.args().get(1), Type.S32);
    if (op.args().size() > 2) {
      code.push(op.args().get(2), Type.B32);
    } else {
      cb.iconst_0();
    }
    cb.loadConstant(Integer.parseInt(to.substring(1)));
    cb.loadConstant(to.charAt(0) == 's' ? 1 : 0);
    code.call(Code.CONVERSIONS, "pack", "(IIIIZ)I");
    code.pop(op.results().get(0), Type.B32);
    return true;
  }

  private static boolean isSmall(Type type) {
    return type == Type.E4M3X2 || type == Type.E5M2X2;
  }

  /** To and from pairs of 8-bit floating numbers. */
  private boolean small(Op op, Type to, Type from) {
    boolean narrows = isSmall(to);
    int format = (narrows ? to : from) == Type.E4M3X2 ? SmallFloats.E4M3 : SmallFloats.E5M2;
    String method;
    if (narrows && from == Type.F32 && op.args().size() == 2) {
      code.push(op.args().get(0), Type.F32);
      code.push(op.args().get(1), Type.F32);
      method = "ofPair";
    } else if (narrows && from == Type.F16X2) {
      code.push(op.args().get(0), Type.B32);
      method = "ofHalves";
    } else if (!narrows && to == Type.F16X2) {
      code.push(op.args().get(0), Type.B16);
      method = "toHalves";
    } else {
      return false;
    }
    cb.loadConstant(format);
    cb.loadConstant(op.has("relu") ? 1 : 0);
    code.call(Code.SMALL_FLOATS, method, method.equals("ofPair") ? "(FFIZ)I" : "(IIZ)I");
    code.pop(op.results().get(0), narrows ? Type.B16 : Type.B32);
    return true;
  }

  private boolean pair(Op op, Type to, Type from) {
    if (from != Type.F32 || op.args().size() != 2) {
      return false;
    }
    int format = HalfCode.isBrain(to) ? Halves.BF16 : Halves.F16;
    pushHalf(op, op.args().get(0), format);
    cb.loadConstant(16);
    cb.ishl();
    pushHalf(op, op.args().get(1), format);
    cb.i2c();
    cb.ior();
    code.pop(op.results().get(0), Type.B32);
    return true;
  }

  private void pushHalf(Op op, Value value, int format) {
    code.push(value, Type.F32);
    floatToHalf(op, format);
    finishHalf(op, format);
  }

  private void finishHalf(Op op, int format) {
    if (op.has("satfinite")) {
      cb.loadConstant(format);
      code.call(Code.HALVES, "finite", "(II)I");
    }
    if (op.has("relu")) {
      cb.loadConstant(format);
      code.call(Code.HALVES, "relu", "(II)I");
    }
  }

  private void saturateHalf(Op op, int format) {
    if (op.has("sat")) {
      cb.loadConstant(format);
      code.call(Code.HALVES, "saturate", "(II)I");
    }
  }

  private void saturateDouble(Op op) {
    if (op.has("sat")) {
      code.call(Code.DOUBLES, "saturate", "(D)D");
    }
  }

  private void floatToHalf(Op op, int format) {
    if (op.has("ftz")) {
      code.call(Code.FLOATS, "flush", "(F)F");
    }
    cb.loadConstant(format);
    int mode = FloatCode.rounding(op);
    if (mode == Rounding.NEAREST) {
      code.call(Code.HALVES, "ofFloat", "(FI)I");
    } else {
      cb.loadConstant(mode);
      code.call(Code.HALVES, "ofFloat", "(FII)I");
    }
  }

  private void integers(Op op, Type to, Type from) {
    code.push(op.args().get(0), from);
    boolean wide = from.bits() == 64;
    if (op.has("sat")) {
      if (!wide) {
        code.widen(from.isSigned());
      }
      cb.loadConstant(from.isSigned() ? 0 : 1);
      cb.loadConstant(to.bits());
      cb.loadConstant(to.isSigned() ? 1 : 0);
      code.call(Code.CONVERSIONS, "clamp", "(JZIZ)J");
      wide = true;
    }
    if (to.bits() == 64) {
      if (!wide) {
        code.widen(from.isSigned());
      }
    } else {
      if (wide) {
        cb.l2i();
      }
      code.extend(to);
    }
    code.pop(op.results().get(0), to);
  }

  private void toFloat(Op op, Type to, Type from) {
    boolean wide = from.bits() == 64;
    boolean signed = from.isSigned();
    int mode = FloatCode.rounding(op);
    code.push(op.args().get(0), from);
    switch (to) {
      case F32 -> {
        if (mode != Rounding.NEAREST) {
          directed(wide, signed, mode, "toFloat", "(JZI)F");
        } else if (wide && !signed) {
          code.call(Code.CONVERSIONS, "unsignedToFloat", "(J)F");
        } else if (wide) {
          cb.l2f();
        } else if (signed || from.bits() < 32) {
          cb.i2f();
        } else {
          code.widen(false);
          cb.l2f();
        }
        if (op.has("sat")) {
          code.call(Code.FLOATS, "saturate", "(F)F");
        }
      }
      case F64 -> {
        if (mode != Rounding.NEAREST) {
          directed(wide, signed, mode, "toDouble", "(JZI)D");
        } else if (wide && !signed) {
          code.call(Code.CONVERSIONS, "unsignedToDouble", "(J)D");
        } else if (wide) {
          cb.l2d();
        } else if (signed || from.bits() < 32) {
          cb.i2d();
        } else {
          code.widen(false);
          cb.l2d();
        }
        saturateDouble(op);
      }
      default -> {
        if (!wide) {
          code.widen(signed);
        }
        cb.loadConstant(signed ? 1 : 0);
        if (mode == Rounding.NEAREST) {
          code.call(Code.CONVERSIONS, "toOddDouble", "(JZ)D");
          cb.loadConstant(to == Type.BF16 ? Halves.BF16 : Halves.F16);
          code.call(Code.HALVES, "ofDouble", "(DI)I");
        } else {
          // Rounding in one direction twice is rounding once.
          cb.loadConstant(mode);
          code.call(Code.CONVERSIONS, "toFloat", "(JZI)F");
          floatToHalf(op, to == Type.BF16 ? Halves.BF16 : Halves.F16);
        }
        saturateHalf(op, to == Type.BF16 ? Halves.BF16 : Halves.F16);
      }
    }
    code.pop(op.results().get(0), halfAsBits(to));
  }

  private void directed(boolean wide, boolean signed, int mode, String method, String descriptor) {
    if (!wide) {
      code.widen(signed);
    }
    cb.loadConstant(signed ? 1 : 0);
    cb.loadConstant(mode);
    code.call(Code.CONVERSIONS, method, descriptor);
  }

  private static Type halfAsBits(Type type) {
    return type.bits() == 16 ? Type.B16 : type;
  }

  /** Pushes a floating argument as a double, flushed if asked. */
  private void pushDouble(Op op, Type from) {
    if (from == Type.F64) {
      code.push(op.args().get(0), from);
      return;
    }
    pushSingle(op, from);
    cb.f2d();
  }

  private void pushSingle(Op op, Type from) {
    if (from == Type.F32) {
      code.push(op.args().get(0), from);
      if (op.has("ftz")) {
        code.call(Code.FLOATS, "flush", "(F)F");
      }
    } else {
      code.push(op.args().get(0), Type.B16);
      cb.loadConstant(from == Type.BF16 ? Halves.BF16 : Halves.F16);
      code.call(Code.HALVES, "toFloat", "(II)F");
    }
  }

  /** The mode in which a value is made integral. */
  private static int integralRounding(Op op) {
    if (op.has("rni")) {
      return Rounding.NEAREST;
    }
    if (op.has("rmi")) {
      return Rounding.DOWN;
    }
    return op.has("rpi") ? Rounding.UP : Rounding.ZERO;
  }

  private void toInteger(Op op, Type to, Type from) {
    int mode = integralRounding(op);
    if (mode == Rounding.ZERO && to == Type.S32 && from != Type.F64) {
      pushSingle(op, from);
      cb.f2i();
      code.pop(op.results().get(0), to);
      return;
    }
    pushDouble(op, from);
    if (mode != Rounding.ZERO) {
      cb.loadConstant(mode);
      code.call(Code.CONVERSIONS, "integral", "(DI)D");
    }
    if (to.bits() == 64) {
      code.call(Code.CONVERSIONS, to.isSigned() ? "toLong" : "toUnsignedLong", "(D)J");
    } else {
      cb.loadConstant(to.bits());
      cb.loadConstant(from == Type.F64 ? 1 << to.bits() - 1 : 0);
      code.call(Code.CONVERSIONS, to.isSigned() ? "toSigned" : "toUnsigned", "(DII)I");
    }
    code.pop(op.results().get(0), to);
  }

  private void floats(Op op, Type to, Type from) {
    boolean integral = op.has("rni") || op.has("rzi") || op.has("rmi") || op.has("rpi");
    int mode = FloatCode.rounding(op);
    if (to == Type.F64) {
      pushDouble(op, from);
      if (integral) {
        cb.loadConstant(integralRounding(op));
        code.call(Code.CONVERSIONS, "integral", "(DI)D");
      }
      saturateDouble(op);
      code.pop(op.results().get(0), to);
      return;
    }
    if (from == Type.F64) {
      pushDouble(op, from);
      if (to != Type.F32 && mode == Rounding.NEAREST) {
        cb.loadConstant(to == Type.BF16 ? Halves.BF16 : Halves.F16);
        code.call(Code.HALVES, "ofDouble", "(DI)I");
        saturateHalf(op, to == Type.BF16 ? Halves.BF16 : Halves.F16);
        code.pop(op.results().get(0), Type.B16);
        return;
      }
      if (mode == Rounding.NEAREST) {
        cb.d2f();
      } else {
        cb.loadConstant(mode);
        code.call(Code.CONVERSIONS, "toFloat", "(DI)F");
      }
    } else {
      pushSingle(op, from);
      if (integral) {
        cb.f2d();
        cb.loadConstant(integralRounding(op));
        code.call(Code.CONVERSIONS, "integral", "(DI)D");
        cb.d2f();
      }
    }
    if (op.has("sat")) {
      code.call(Code.FLOATS, "saturate", "(F)F");
    }
    if (to == Type.F32) {
      if (op.has("ftz")) {
        code.call(Code.FLOATS, "flush", "(F)F");
      }
    } else {
      int format = to == Type.BF16 ? Halves.BF16 : Halves.F16;
      floatToHalf(op, format);
      finishHalf(op, format);
    }
    code.pop(op.results().get(0), halfAsBits(to));
  }
}
