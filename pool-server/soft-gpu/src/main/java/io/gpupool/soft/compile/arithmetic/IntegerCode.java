// SPDX-License-Identifier: Apache-2.0
package io.gpupool.soft.compile.arithmetic;

import io.gpupool.soft.compile.emit.Code;
import io.gpupool.soft.compile.ir.Op;
import io.gpupool.soft.compile.ir.RefusedException;
import io.gpupool.soft.compile.ir.Value;
import io.gpupool.soft.ptx.Type;
import java.lang.classfile.CodeBuilder;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** Emitter of integer arithmetic. */
public final class IntegerCode {
  private final Code code;
  private final CodeBuilder cb;

  public IntegerCode(Code code) {
    this.code = code;
    cb = code.cb();
  }

  public boolean emit(Op op) {
    Type type = op.type();
    if (type == Type.U16X2 || type == Type.S16X2 || type.isFloat() || type == Type.B128) {
      return false;
    }
    switch (op.opcode()) {
      case "add" -> add(op, type, true);
      case "sub" -> add(op, type, false);
      case "addc" -> addCarry(op, type, op.args().get(0), op.args().get(1), true);
      case "subc" -> addCarry(op, type, op.args().get(0), op.args().get(1), false);
      case "mul" -> {
        product(op, type);
        code.pop(op.results().get(0), productType(op, type));
      }
      case "mad" -> multiplyAdd(op, type);
      case "madc" -> multiplyAddCarry(op, type);
      case "mul24" -> {
        product24(op, type);
        code.pop(op.results().get(0), type);
      }
      case "mad24" -> {
        product24(op, type);
        if (op.has("sat")) {
          code.widen(true);
          code.push(op.args().get(2), type);
          code.widen(true);
          cb.ladd();
          code.call(Code.INTEGERS, "saturate", "(J)I");
        } else {
          code.push(op.args().get(2), type);
          cb.iadd();
        }
        code.pop(op.results().get(0), type);
      }
      case "sad" -> three(op, type, type.isSigned() ? "sad" : "sadUnsigned");
      case "div" -> two(op, type, type.isSigned() ? "div" : "divUnsigned");
      case "rem" -> two(op, type, type.isSigned() ? "rem" : "remUnsigned");
      case "min", "max" -> extreme(op, type);
      case "neg" -> {
        code.push(op.args().get(0), type);
        if (wide(type)) {
          cb.lneg();
        } else {
          cb.ineg();
        }
        code.pop(op.results().get(0), type);
      }
      case "abs" -> {
        code.push(op.args().get(0), type);
        code.call(Code.MATH, "abs", wide(type) ? "(J)J" : "(I)I");
        code.pop(op.results().get(0), type);
      }
      default -> {
        return false;
      }
    }
    return true;
  }

  private static boolean wide(Type type) {
    return type.bits() == 64;
  }

  private void two(Op op, Type type, String method) {
    code.push(op.args().get(0), type);
    code.push(op.args().get(1), type);
    code.call(Code.INTEGERS, method, wide(type) ? "(JJ)J" : "(II)I");
    code.pop(op.results().get(0), type);
  }

  private void three(Op op, Type type, String method) {
    code.pushAll(op.args(), type);
    code.call(Code.INTEGERS, method, wide(type) ? "(JJJ)J" : "(III)I");
    code.pop(op.results().get(0), type);
  }

  private void extreme(Op op, Type type) {
    if (type.isSigned()) {
      code.push(op.args().get(0), type);
      code.push(op.args().get(1), type);
      code.call(Code.MATH, op.opcode(), wide(type) ? "(JJ)J" : "(II)I");
      if (op.has("relu")) {
        cb.iconst_0();
        code.call(Code.MATH, "max", "(II)I");
      }
      code.pop(op.results().get(0), type);
    } else {
      two(op, type, op.opcode() + "Unsigned");
    }
  }

  private void add(Op op, Type type, boolean plus) {
    if (op.has("cc")) {
      addCarry(op, type, op.args().get(0), op.args().get(1), plus);
      return;
    }
    code.push(op.args().get(0), type);
    if (op.has("sat")) {
      code.widen(true);
      code.push(op.args().get(1), type);
      code.widen(true);
      addOrSubtract(true, plus);
      code.call(Code.INTEGERS, "saturate", "(J)I");
    } else {
      code.push(op.args().get(1), type);
      addOrSubtract(wide(type), plus);
    }
    code.pop(op.results().get(0), type);
  }

  private void addOrSubtract(boolean wide, boolean plus) {
    if (wide && plus) {
      cb.ladd();
    } else if (wide) {
      cb.lsub();
    } else if (plus) {
      cb.iadd();
    } else {
      cb.isub();
    }
  }

  /** The carry register, last among the arguments where it is read. */
  private static @Nullable Value carryIn(Op op) {
    return op.opcode().endsWith("c") ? op.args().get(op.args().size() - 1) : null;
  }

  /**
   * A card subtracts by adding the complement, and the flag is that sum's carry: set where nothing
   * is borrowed. PTX does not say so, but nvcc's division of 128-bit integers reads it by {@code
   * addc}.
   */
  private void addCarry(Op op, Type type, Value a, Value b, boolean plus) {
    Value carry = carryIn(op);
    boolean wide = wide(type);
    // Sum and carry both read the operands, so both are on the stack before either is stored.
    pushTerms(type, a, b, plus);
    addOrSubtract(wide, true);
    pushCarry(carry, !plus);
    if (wide) {
      cb.i2l();
    }
    addOrSubtract(wide, true);
    if (op.has("cc")) {
      pushTerms(type, a, b, plus);
      pushCarry(carry, !plus);
      code.call(Code.INTEGERS, "carry", wide ? "(JJI)I" : "(III)I");
      code.popPredicate(op.results().get(1));
    }
    code.pop(op.results().get(0), type);
  }

  private void pushTerms(Type type, Value a, Value b, boolean plus) {
    code.push(a, type);
    code.push(b, type);
    if (!plus && wide(type)) {
      cb.loadConstant(-1L);
      cb.lxor();
    } else if (!plus) {
      cb.iconst_m1();
      cb.ixor();
    }
  }

  private void pushCarry(@Nullable Value carry, boolean withoutOne) {
    if (carry != null) {
      code.push(carry, Type.PRED);
    } else {
      cb.loadConstant(withoutOne ? 1 : 0);
    }
  }

  private static Type productType(Op op, Type type) {
    if (!op.has("wide")) {
      return type;
    }
    return switch (type) {
      case S16 -> Type.S32;
      case U16 -> Type.U32;
      case S32 -> Type.S64;
      case U32 -> Type.U64;
      default -> throw new RefusedException(op.source(), "is not supported");
    };
  }

  /** Pushes the product of the first two arguments: low, high or wide part. */
  private void product(Op op, Type type) {
    List<Value> args = op.args();
    boolean wide = wide(type);
    code.push(args.get(0), type);
    if (op.has("wide") && type.bits() == 32) {
      code.widen(type.isSigned());
      code.push(args.get(1), type);
      code.widen(type.isSigned());
      cb.lmul();
      return;
    }
    code.push(args.get(1), type);
    if (!op.has("hi")) {
      if (wide) {
        cb.lmul();
      } else {
        cb.imul();
      }
    } else if (wide) {
      code.call(Code.MATH, type.isSigned() ? "multiplyHigh" : "unsignedMultiplyHigh", "(JJ)J");
    } else if (type.bits() == 32) {
      code.call(Code.INTEGERS, type.isSigned() ? "mulHigh" : "mulHighUnsigned", "(II)I");
    } else {
      cb.imul();
      cb.loadConstant(16);
      cb.iushr();
    }
  }

  private void product24(Op op, Type type) {
    code.push(op.args().get(0), type);
    code.push(op.args().get(1), type);
    String method = op.has("hi") ? "mul24High" : "mul24";
    code.call(Code.INTEGERS, type.isSigned() ? method : method + "Unsigned", "(II)I");
  }

  private void multiplyAdd(Op op, Type type) {
    if (op.has("cc")) {
      multiplyAddCarry(op, type);
      return;
    }
    Type result = productType(op, type);
    product(op, type);
    if (op.has("sat")) {
      code.widen(true);
      code.push(op.args().get(2), result);
      code.widen(true);
      cb.ladd();
      code.call(Code.INTEGERS, "saturate", "(J)I");
    } else {
      code.push(op.args().get(2), result);
      addOrSubtract(wide(result), true);
    }
    code.pop(op.results().get(0), result);
  }

  private void multiplyAddCarry(Op op, Type type) {
    Value carry = carryIn(op);
    boolean wide = wide(type);
    product(op, type);
    if (op.has("cc")) {
      if (wide) {
        cb.dup2();
      } else {
        cb.dup();
      }
      code.push(op.args().get(2), type);
      pushCarry(carry, false);
      code.call(Code.INTEGERS, "carry", wide ? "(JJI)I" : "(III)I");
      // The old carry is still needed for the sum; the new one waits below it.
      if (wide) {
        cb.dup_x2();
        cb.pop();
      } else {
        cb.swap();
      }
    }
    code.push(op.args().get(2), type);
    addOrSubtract(wide, true);
    if (carry != null) {
      code.push(carry, Type.PRED);
      if (wide) {
        cb.i2l();
      }
      addOrSubtract(wide, true);
    }
    code.pop(op.results().get(0), type);
    if (op.has("cc")) {
      code.popPredicate(op.results().get(1));
    }
  }
}
