// SPDX-License-Identifier: Apache-2.0
package io.gpupool.soft.compile.arithmetic;

import io.gpupool.soft.compile.emit.Code;
import io.gpupool.soft.compile.ir.Op;
import io.gpupool.soft.compile.ir.RefusedException;
import io.gpupool.soft.compile.ir.Value;
import io.gpupool.soft.ptx.Type;
import java.lang.classfile.CodeBuilder;
import java.lang.classfile.Label;
import java.util.List;

/** Emitter of logic, shifts and bit fields. */
public final class BitCode {
  private static final List<String> PRMT_MODES = List.of("f4e", "b4e", "rc8", "ecl", "ecr", "rc16");

  private final Code code;
  private final CodeBuilder cb;

  public BitCode(Code code) {
    this.code = code;
    cb = code.cb();
  }

  public boolean emit(Op op) {
    Type type = op.types().isEmpty() ? Type.B32 : op.type();
    if (type.isFloat()) {
      return false;
    }
    boolean wide = type.bits() == 64;
    switch (op.opcode()) {
      case "and", "or", "xor", "not" -> logic(op, type, wide);
      case "cnot" -> isZero(op, type);
      case "shl", "shr" -> shift(op, type);
      case "shf" -> funnel(op);
      case "bfe", "bfi", "bmsk", "szext" -> field(op, type, wide);
      case "bfind" -> find(op, type);
      case "brev" -> unary(op, type, wide ? Code.LONG : Code.INTEGER, "reverse", wide, type);
      case "clz" -> count(op, type, "numberOfLeadingZeros");
      case "popc" -> count(op, type, "bitCount");
      case "prmt" -> permute(op);
      case "lop3" -> lookUp(op);
      case "fns" -> {
        code.pushAll(op.args(), Type.B32);
        code.call(Code.INTEGERS, "fns", "(III)I");
        code.pop(op.results().get(0), Type.B32);
      }
      case "dp4a", "dp2a" -> dot(op);
      default -> {
        return false;
      }
    }
    return true;
  }

  private void logic(Op op, Type type, boolean wide) {
    if (!op.opcode().equals("not")) {
      code.pushAll(op.args(), type);
      logic(op.opcode(), wide);
    } else {
      code.push(op.args().get(0), type);
      if (wide) {
        cb.loadConstant(-1L);
        cb.lxor();
      } else {
        cb.loadConstant(type == Type.PRED ? 1 : -1);
        cb.ixor();
      }
    }
    code.pop(op.results().get(0), type);
  }

  /** Operations on a field of bits, given by its position and length. */
  private void field(Op op, Type type, boolean wide) {
    List<Value> args = op.args();
    switch (op.opcode()) {
      case "bfe" -> {
        code.push(args.get(0), type);
        code.push(args.get(1), Type.U32);
        code.push(args.get(2), Type.U32);
        String method = type.isSigned() ? "bfe" : "bfeUnsigned";
        code.call(Code.INTEGERS, method, wide ? "(JII)J" : "(III)I");
      }
      case "bfi" -> {
        code.push(args.get(0), type);
        code.push(args.get(1), type);
        code.push(args.get(2), Type.U32);
        code.push(args.get(3), Type.U32);
        code.call(Code.INTEGERS, "bfi", wide ? "(JJII)J" : "(IIII)I");
      }
      case "bmsk" -> {
        code.pushAll(args, Type.B32);
        code.call(Code.INTEGERS, op.has("wrap") ? "bmskWrap" : "bmskClamp", "(II)I");
      }
      default -> {
        code.pushAll(args, Type.U32);
        cb.loadConstant(type.isSigned() ? 1 : 0);
        cb.loadConstant(op.has("wrap") ? 0 : 1);
        code.call(Code.INTEGERS, "szext", "(IIZZ)I");
      }
    }
    code.pop(op.results().get(0), op.opcode().equals("bmsk") ? Type.B32 : type);
  }

  private void unary(
      Op op, Type type, java.lang.constant.ClassDesc owner, String method, boolean wide, Type to) {
    code.push(op.args().get(0), type);
    code.call(owner, method, wide ? "(J)J" : "(I)I");
    code.pop(op.results().get(0), to);
  }

  private void count(Op op, Type type, String method) {
    boolean wide = type.bits() == 64;
    code.push(op.args().get(0), type);
    code.call(wide ? Code.LONG : Code.INTEGER, method, wide ? "(J)I" : "(I)I");
    code.pop(op.results().get(0), Type.U32);
  }

  private void logic(String opcode, boolean wide) {
    switch (opcode) {
      case "and" -> {
        if (wide) {
          cb.land();
        } else {
          cb.iand();
        }
      }
      case "or" -> {
        if (wide) {
          cb.lor();
        } else {
          cb.ior();
        }
      }
      default -> {
        if (wide) {
          cb.lxor();
        } else {
          cb.ixor();
        }
      }
    }
  }

  private void isZero(Op op, Type type) {
    Label zero = cb.newLabel();
    Label end = cb.newLabel();
    boolean wide = type.bits() == 64;
    code.push(op.args().get(0), type);
    if (wide) {
      cb.lconst_0();
      cb.lcmp();
    }
    cb.ifeq(zero);
    pushNumber(0, wide);
    cb.goto_(end);
    cb.labelBinding(zero);
    pushNumber(1, wide);
    cb.labelBinding(end);
    code.pop(op.results().get(0), type);
  }

  private void pushNumber(int value, boolean wide) {
    if (wide) {
      cb.loadConstant((long) value);
    } else {
      cb.loadConstant(value);
    }
  }

  private void shift(Op op, Type type) {
    boolean wide = type.bits() == 64;
    boolean left = op.opcode().equals("shl");
    code.push(op.args().get(0), type);
    Value amount = op.args().get(1);
    if (amount instanceof Value.Int(long n) && n >= 0 && n < Math.max(32, type.bits())) {
      cb.loadConstant((int) n);
      constantShift(left, type.isSigned(), wide);
    } else {
      code.push(amount, Type.U32);
      String method = left ? "shl" : type.isSigned() ? "shr" : "shrUnsigned";
      code.call(Code.INTEGERS, method, wide ? "(JI)J" : "(II)I");
    }
    code.pop(op.results().get(0), type);
  }

  private void constantShift(boolean left, boolean signed, boolean wide) {
    if (left && wide) {
      cb.lshl();
    } else if (left) {
      cb.ishl();
    } else if (signed && wide) {
      cb.lshr();
    } else if (signed) {
      cb.ishr();
    } else if (wide) {
      cb.lushr();
    } else {
      cb.iushr();
    }
  }

  private void funnel(Op op) {
    code.pushAll(op.args(), Type.B32);
    String method = op.has("l") ? "funnelLeft" : "funnelRight";
    code.call(Code.INTEGERS, op.has("clamp") ? method + "Clamp" : method, "(III)I");
    code.pop(op.results().get(0), Type.B32);
  }

  private void find(Op op, Type type) {
    boolean wide = type.bits() == 64;
    code.push(op.args().get(0), type);
    code.call(Code.INTEGERS, type.isSigned() ? "bfind" : "bfindUnsigned", wide ? "(J)I" : "(I)I");
    if (op.has("shiftamt")) {
      cb.loadConstant(type.bits() - 1);
      code.call(Code.INTEGERS, "shiftAmount", "(II)I");
    }
    code.pop(op.results().get(0), Type.U32);
  }

  private void permute(Op op) {
    code.pushAll(op.args(), Type.B32);
    int mode = -1;
    for (String modifier : op.modifiers()) {
      mode = Math.max(mode, PRMT_MODES.indexOf(modifier));
    }
    if (mode >= 0) {
      cb.loadConstant(mode);
      code.call(Code.INTEGERS, "prmtMode", "(IIII)I");
    } else {
      code.call(Code.INTEGERS, "prmt", "(III)I");
    }
    code.pop(op.results().get(0), Type.B32);
  }

  private void lookUp(Op op) {
    if (op.args().size() < 4 || !(op.args().get(3) instanceof Value.Int(long table))) {
      throw new RefusedException(op.source(), "in this form is not supported");
    }
    if (op.results().size() == 2 && op.args().size() == 5) {
      lookUpAndTest(op, (int) table & 255);
      return;
    }
    code.push(op.args().get(0), Type.B32);
    code.push(op.args().get(1), Type.B32);
    switch ((int) table & 255) {
      case 0x96 -> {
        cb.ixor();
        code.push(op.args().get(2), Type.B32);
        cb.ixor();
      }
      case 0x80 -> {
        cb.iand();
        code.push(op.args().get(2), Type.B32);
        cb.iand();
      }
      case 0xFE -> {
        cb.ior();
        code.push(op.args().get(2), Type.B32);
        cb.ior();
      }
      case 0xEA -> {
        cb.iand();
        code.push(op.args().get(2), Type.B32);
        cb.ior();
      }
      default -> {
        code.push(op.args().get(2), Type.B32);
        cb.loadConstant((int) table & 255);
        code.call(Code.INTEGERS, "lop3", "(IIII)I");
      }
    }
    code.pop(op.results().get(0), Type.B32);
  }

  /** {@code lop3.or d|p}: also whether any bit is set, combined with a predicate. */
  private void lookUpAndTest(Op op, int table) {
    code.pushAll(op.args().subList(0, 3), Type.B32);
    cb.loadConstant(table);
    code.call(Code.INTEGERS, "lop3", "(IIII)I");
    cb.dup();
    code.call(Code.INTEGERS, "isNotZero", "(I)I");
    code.push(op.args().get(4), Type.PRED);
    logic(op.has("and") ? "and" : op.has("or") ? "or" : "xor", false);
    code.popPredicate(op.results().get(1));
    code.pop(op.results().get(0), Type.B32);
  }

  private void dot(Op op) {
    List<Type> types = op.types();
    code.pushAll(op.args(), Type.B32);
    cb.loadConstant(types.get(0).isSigned() ? 1 : 0);
    cb.loadConstant(types.get(1).isSigned() ? 1 : 0);
    if (op.opcode().equals("dp4a")) {
      code.call(Code.INTEGERS, "dp4a", "(IIIZZ)I");
    } else {
      cb.loadConstant(op.has("hi") ? 1 : 0);
      code.call(Code.INTEGERS, "dp2a", "(IIIZZZ)I");
    }
    code.pop(op.results().get(0), Type.B32);
  }
}
