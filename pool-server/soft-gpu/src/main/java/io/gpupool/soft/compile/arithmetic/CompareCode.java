// SPDX-License-Identifier: Apache-2.0
package io.gpupool.soft.compile.arithmetic;

import io.gpupool.soft.compile.emit.Code;
import io.gpupool.soft.compile.ir.Op;
import io.gpupool.soft.compile.ir.RefusedException;
import io.gpupool.soft.exec.arithmetic.Halves;
import io.gpupool.soft.ptx.Type;
import java.lang.classfile.CodeBuilder;
import java.lang.classfile.Label;
import java.util.List;
import java.util.Set;

/** Emitter of comparisons. */
public final class CompareCode {
  private static final Set<String> COMPARISONS =
      Set.of(
          "eq", "ne", "lt", "le", "gt", "ge", "lo", "ls", "hi", "hs", "equ", "neu", "ltu", "leu",
          "gtu", "geu", "num", "nan");

  private final Code code;
  private final CodeBuilder cb;

  public CompareCode(Code code) {
    this.code = code;
    cb = code.cb();
  }

  public boolean emit(Op op) {
    String comparison = comparison(op);
    List<Type> types = op.types();
    boolean set = op.opcode().equals("set");
    Type type = types.get(types.size() - 1);
    if (set && types.size() != 2) {
      return false;
    }
    if (type == Type.F16X2 || type == Type.BF16X2) {
      pairs(op, comparison, type, set);
      return true;
    }
    compare(op, comparison, type, 0);
    if (set) {
      combine(op, 2);
      storeNumber(op, types.get(0));
      return true;
    }
    if (op.results().size() > 1) {
      cb.dup();
      cb.iconst_1();
      cb.ixor();
      combine(op, 2);
      code.popPredicate(op.results().get(1));
    }
    combine(op, 2);
    code.popPredicate(op.results().get(0));
    return true;
  }

  private static String comparison(Op op) {
    for (String modifier : op.modifiers()) {
      if (COMPARISONS.contains(modifier)) {
        return modifier;
      }
    }
    throw new RefusedException(op.source(), "names no comparison");
  }

  /** Combines the predicate on the stack with the one that the operation adds, if it does. */
  private void combine(Op op, int index) {
    if (op.args().size() <= index) {
      return;
    }
    code.push(op.args().get(index), Type.PRED);
    if (op.has("and")) {
      cb.iand();
    } else if (op.has("or")) {
      cb.ior();
    } else {
      cb.ixor();
    }
  }

  private void storeNumber(Op op, Type type) {
    switch (type) {
      case F32 -> {
        cb.i2f();
        code.pop(op.results().get(0), Type.F32);
      }
      case F16, BF16 -> {
        cb.loadConstant(type == Type.F16 ? 0x3C00 : 0x3F80);
        cb.imul();
        code.pop(op.results().get(0), Type.B16);
      }
      default -> {
        cb.ineg();
        code.pop(op.results().get(0), type);
      }
    }
  }

  /** Pushes the result of comparing the first two arguments, or a half of each. */
  private void compare(Op op, String comparison, Type type, int shift) {
    switch (type) {
      case F32 -> {
        pushFloat(op, 0);
        pushFloat(op, 1);
        floats(comparison, false);
      }
      case F64 -> {
        code.push(op.args().get(0), type);
        code.push(op.args().get(1), type);
        floats(comparison, true);
      }
      case F16, BF16, F16X2, BF16X2 -> {
        pushHalf(op, 0, type, shift);
        pushHalf(op, 1, type, shift);
        floats(comparison, false);
      }
      default -> integers(op, comparison, type);
    }
  }

  private void pushFloat(Op op, int index) {
    code.push(op.args().get(index), Type.F32);
    if (op.has("ftz")) {
      code.call(Code.FLOATS, "flush", "(F)F");
    }
  }

  private void pushHalf(Op op, int index, Type type, int shift) {
    code.push(op.args().get(index), type.bits() == 32 ? Type.B32 : Type.B16);
    cb.loadConstant(shift);
    cb.iushr();
    cb.i2c();
    int format = HalfCode.isBrain(type) ? Halves.BF16 : Halves.F16;
    if (op.has("ftz")) {
      cb.loadConstant(format);
      code.call(Code.HALVES, "flush", "(II)I");
    }
    cb.loadConstant(format);
    code.call(Code.HALVES, "toFloat", "(II)F");
    if (op.has("ftz")) {
      code.call(Code.HALVES, "flush", "(F)F");
    }
  }

  /** {@code setp.f16x2 p|q}: one predicate a half; {@code set} gives one number a half. */
  private void pairs(Op op, String comparison, Type type, boolean set) {
    if (!set) {
      compare(op, comparison, type, 16);
      combine(op, 2);
      compare(op, comparison, type, 0);
      combine(op, 2);
      code.popPredicate(op.results().get(0));
      code.popPredicate(op.results().size() > 1 ? op.results().get(1) : null);
      return;
    }
    Type to = op.types().get(0);
    int one = to.isFloat() ? (HalfCode.isBrain(to) ? 0x3F80 : 0x3C00) : 0xFFFF;
    compare(op, comparison, type, 16);
    combine(op, 2);
    cb.loadConstant(one << 16);
    cb.imul();
    compare(op, comparison, type, 0);
    combine(op, 2);
    cb.loadConstant(one);
    cb.imul();
    cb.ior();
    code.pop(op.results().get(0), Type.B32);
  }

  private void integers(Op op, String comparison, Type type) {
    boolean unsigned =
        type.kind() == Type.Kind.UNSIGNED || comparison.startsWith("h") || isLower(comparison);
    code.push(op.args().get(0), type);
    code.push(op.args().get(1), type);
    Label yes = cb.newLabel();
    Label end = cb.newLabel();
    boolean ordered = !comparison.equals("eq") && !comparison.equals("ne");
    if (type.bits() == 64) {
      if (unsigned && ordered) {
        code.call(Code.LONG, "compareUnsigned", "(JJ)I");
      } else {
        cb.lcmp();
      }
      zeroBranch(comparison, yes);
    } else if (unsigned && ordered && type.bits() == 32) {
      code.call(Code.INTEGER, "compareUnsigned", "(II)I");
      zeroBranch(comparison, yes);
    } else {
      intBranch(comparison, yes);
    }
    pushBoolean(yes, end);
  }

  private static boolean isLower(String comparison) {
    return comparison.equals("lo") || comparison.equals("ls");
  }

  private void pushBoolean(Label yes, Label end) {
    cb.iconst_0();
    cb.goto_(end);
    cb.labelBinding(yes);
    cb.iconst_1();
    cb.labelBinding(end);
  }

  private void zeroBranch(String comparison, Label yes) {
    switch (comparison) {
      case "eq" -> cb.ifeq(yes);
      case "ne" -> cb.ifne(yes);
      case "lt", "lo", "ltu" -> cb.iflt(yes);
      case "le", "ls", "leu" -> cb.ifle(yes);
      case "gt", "hi", "gtu" -> cb.ifgt(yes);
      default -> cb.ifge(yes);
    }
  }

  private void intBranch(String comparison, Label yes) {
    switch (comparison) {
      case "eq" -> cb.if_icmpeq(yes);
      case "ne" -> cb.if_icmpne(yes);
      case "lt", "lo" -> cb.if_icmplt(yes);
      case "le", "ls" -> cb.if_icmple(yes);
      case "gt", "hi" -> cb.if_icmpgt(yes);
      default -> cb.if_icmpge(yes);
    }
  }

  /** A NaN compares as less under {@code cmpl} and as greater under {@code cmpg}. */
  private void floats(String comparison, boolean wide) {
    String pair = wide ? "(DD)I" : "(FF)I";
    switch (comparison) {
      case "ne" -> code.call(Code.FLOATS, "notEqual", pair);
      case "equ" -> code.call(Code.FLOATS, "equalOrNan", pair);
      case "nan" -> code.call(Code.FLOATS, "isNan", pair);
      case "num" -> {
        code.call(Code.FLOATS, "isNan", pair);
        cb.iconst_1();
        cb.ixor();
      }
      default -> {
        boolean nanIsGreater =
            switch (comparison) {
              case "lt", "le", "gtu", "geu", "lo", "ls" -> true;
              default -> false;
            };
        if (wide && nanIsGreater) {
          cb.dcmpg();
        } else if (wide) {
          cb.dcmpl();
        } else if (nanIsGreater) {
          cb.fcmpg();
        } else {
          cb.fcmpl();
        }
        Label yes = cb.newLabel();
        Label end = cb.newLabel();
        zeroBranch(comparison.equals("neu") ? "ne" : comparison, yes);
        pushBoolean(yes, end);
      }
    }
  }
}
