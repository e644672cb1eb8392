// SPDX-License-Identifier: Apache-2.0
package io.gpupool.soft.compile.arithmetic;

import io.gpupool.soft.compile.emit.AddressCode;
import io.gpupool.soft.compile.emit.Code;
import io.gpupool.soft.compile.ir.Op;
import io.gpupool.soft.compile.ir.RefusedException;
import io.gpupool.soft.compile.ir.VReg;
import io.gpupool.soft.compile.ir.Value;
import io.gpupool.soft.exec.access.AddressTranslation;
import io.gpupool.soft.ptx.Type;
import java.lang.classfile.CodeBuilder;
import java.lang.classfile.Label;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** Emitter of moves, selections and changes of address space. */
public final class MoveCode {
  private final Code code;
  private final CodeBuilder cb;

  public MoveCode(Code code) {
    this.code = code;
    cb = code.cb();
  }

  public boolean emit(Op op) {
    switch (op.opcode()) {
      case "mov" -> move(op);
      case "cvta" -> changeSpace(op);
      case "selp" -> select(op);
      case "slct" -> selectBySign(op);
      case "mapa" -> {
        code.pushBlock();
        code.push(op.args().get(0), Type.U64);
        code.push(op.args().get(1), Type.U32);
        code.call(Code.CLUSTER_MEMORY, "map", "(" + AddressCode.block() + "JI)J");
        if (op.type().bits() == 32) {
          cb.l2i();
        }
        code.pop(op.results().get(0), op.type());
      }
      case "getctarank" -> {
        code.pushBlock();
        code.push(op.args().get(0), Type.U64);
        code.call(Code.CLUSTER_MEMORY, "rank", "(" + AddressCode.block() + "J)I");
        code.pop(op.results().get(0), Type.U32);
      }
      case "createpolicy" -> {
        cb.lconst_0();
        code.pop(op.results().get(0), Type.B64);
      }
      default -> {
        return isSpace(op);
      }
    }
    return true;
  }

  private void move(Op op) {
    Type type = op.type();
    if (type == Type.B128) {
      moveWide(op);
    } else if (op.args().get(0) instanceof Value.Vector(List<Value> parts)) {
      pack(op, type, parts);
    } else if (op.results().size() > 1) {
      unpack(op, type);
    } else {
      code.push(op.args().get(0), type);
      code.pop(op.results().get(0), type);
    }
  }

  /** Between halves or quarters; a register of 128 bits is two halves. */
  private void moveWide(Op op) {
    if (!(op.args().get(0) instanceof Value.Vector(List<Value> from))) {
      throw new RefusedException(op.source(), "needs a register of 128 bits");
    }
    List<@Nullable VReg> to = op.results();
    if (from.size() == to.size()) {
      Type part = from.size() == 2 ? Type.B64 : Type.B32;
      code.pushAll(from, part);
      for (VReg register : to.reversed()) {
        code.pop(register, part);
      }
    } else if (from.size() == 4 && to.size() == 2) {
      for (int i = 0; i < 2; i++) {
        code.push(from.get(2 * i), Type.B32);
        code.widen(false);
        code.push(from.get(2 * i + 1), Type.B32);
        code.widen(false);
        cb.loadConstant(32);
        cb.lshl();
        cb.lor();
        code.pop(to.get(i), Type.B64);
      }
    } else if (from.size() == 2 && to.size() == 4) {
      for (int i = 0; i < 4; i++) {
        code.push(from.get(i / 2), Type.B64);
        cb.loadConstant(32 * (i % 2));
        cb.lushr();
        cb.l2i();
        code.pop(to.get(i), Type.B32);
      }
    } else {
      throw new RefusedException(op.source(), "has parts of an odd size");
    }
  }

  private static Type part(Op op, Type type, int count) {
    return switch (type.bits() / count) {
      case 8 -> Type.B8;
      case 16 -> Type.B16;
      case 32 -> Type.B32;
      default -> throw new RefusedException(op.source(), "has parts of an odd size");
    };
  }

  private void pack(Op op, Type type, List<Value> parts) {
    Type part = part(op, type, parts.size());
    boolean wide = type.bits() == 64;
    for (int i = 0; i < parts.size(); i++) {
      code.push(parts.get(i), part);
      if (wide) {
        code.widen(false);
      }
      if (i > 0) {
        cb.loadConstant(i * part.bits());
        if (wide) {
          cb.lshl();
          cb.lor();
        } else {
          cb.ishl();
          cb.ior();
        }
      }
    }
    code.pop(op.results().get(0), wide ? Type.B64 : type.bits() == 32 ? Type.B32 : Type.B16);
  }

  private void unpack(Op op, Type type) {
    int count = op.results().size();
    Type part = part(op, type, count);
    boolean wide = type.bits() == 64;
    code.push(op.args().get(0), wide ? Type.B64 : type.bits() == 32 ? Type.B32 : Type.B16);
    for (int i = 0; i < count; i++) {
      if (wide) {
        cb.dup2();
      } else {
        cb.dup();
      }
      if (i > 0) {
        cb.loadConstant(i * part.bits());
        if (wide) {
          cb.lushr();
        } else {
          cb.iushr();
        }
      }
      if (wide) {
        cb.l2i();
      }
      code.extend(part);
      code.pop(op.results().get(i), part);
    }
    if (wide) {
      cb.pop2();
    } else {
      cb.pop();
    }
  }

  private void changeSpace(Op op) {
    if (op.type().bits() != 64) {
      throw new RefusedException(op.source(), "with 32-bit addresses is not supported");
    }
    code.push(op.args().get(0), Type.U64);
    long window = window(op);
    if (window != 0) {
      cb.loadConstant(window);
      if (op.has("to")) {
        cb.lsub();
      } else {
        cb.ladd();
      }
    }
    code.pop(op.results().get(0), Type.U64);
  }

  private static long window(Op op) {
    for (String modifier : op.modifiers()) {
      switch (modifier) {
        case "shared", "shared::cta", "shared::cluster" -> {
          return AddressTranslation.SHARED_WINDOW;
        }
        case "local" -> {
          return AddressTranslation.LOCAL_WINDOW;
        }
        case "param", "param::entry" -> {
          return AddressTranslation.PARAM_WINDOW;
        }
        default -> {}
      }
    }
    return 0;
  }

  private boolean isSpace(Op op) {
    if (op.has("shared") || op.has("shared::cta")) {
      code.pushBlock();
      code.push(op.args().get(0), Type.U64);
      code.call(Code.CLUSTER_MEMORY, "isOwn", "(" + AddressCode.block() + "J)I");
      code.popPredicate(op.results().get(0));
      return true;
    }
    code.push(op.args().get(0), Type.U64);
    long window = window(op);
    if (window != 0) {
      cb.loadConstant(window);
      code.call(Code.ADDRESS_TRANSLATION, "inWindow", "(JJ)I");
    } else if (op.has("global")) {
      code.call(Code.ADDRESS_TRANSLATION, "isGlobal", "(J)I");
    } else {
      // Constant memory has no window of its own; generic addresses of it are global ones.
      cb.pop2();
      cb.iconst_0();
    }
    code.popPredicate(op.results().get(0));
    return true;
  }

  /** {@code alloca} and kin: the stack lies at the start of a function's local memory. */
  public boolean stack(Op op) {
    List<Value> args = op.args();
    if (!op.opcode().equals("alloca")) {
      code.push(args.get(0), Type.U64);
      code.pop(op.results().get(0), Type.U64);
      return true;
    }
    code.push(args.get(2), Type.U64);
    code.push(args.get(0), Type.U64);
    code.push(args.get(1), Type.U32);
    code.call(Code.ADDRESS_TRANSLATION, "alloca", "(JJI)J");
    cb.dup2();
    code.push(args.get(0), Type.U64);
    cb.ladd();
    code.pop(op.results().get(1), Type.U64);
    code.push(args.get(3), Type.U64);
    cb.ladd();
    code.pop(op.results().get(0), Type.U64);
    return true;
  }

  private void select(Op op) {
    Type type = op.type();
    Label otherwise = cb.newLabel();
    Label end = cb.newLabel();
    code.push(op.args().get(2), Type.PRED);
    cb.ifeq(otherwise);
    code.push(op.args().get(0), type);
    cb.goto_(end);
    cb.labelBinding(otherwise);
    code.push(op.args().get(1), type);
    cb.labelBinding(end);
    code.pop(op.results().get(0), type);
  }

  /** {@code slct d, a, b, c}: a if c is not negative, else b. */
  private void selectBySign(Op op) {
    Type type = op.types().get(0);
    Type sign = op.types().get(1);
    Label otherwise = cb.newLabel();
    Label end = cb.newLabel();
    code.push(op.args().get(2), sign);
    if (sign == Type.F32) {
      if (op.has("ftz")) {
        code.call(Code.FLOATS, "flush", "(F)F");
      }
      cb.fconst_0();
      cb.fcmpl();
    }
    cb.iflt(otherwise);
    code.push(op.args().get(0), type);
    cb.goto_(end);
    cb.labelBinding(otherwise);
    code.push(op.args().get(1), type);
    cb.labelBinding(end);
    code.pop(op.results().get(0), type);
  }
}
