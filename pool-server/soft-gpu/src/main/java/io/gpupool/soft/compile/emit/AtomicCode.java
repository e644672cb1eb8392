// SPDX-License-Identifier: Apache-2.0
package io.gpupool.soft.compile.emit;

import io.gpupool.soft.compile.ir.Op;
import io.gpupool.soft.compile.ir.RefusedException;
import io.gpupool.soft.compile.ir.Value;
import io.gpupool.soft.exec.memory.Atomics;
import io.gpupool.soft.ptx.Space;
import io.gpupool.soft.ptx.Type;
import java.lang.classfile.CodeBuilder;
import java.util.List;

/** Emitter of atomic operations and reductions. */
public final class AtomicCode {
  private final Code code;
  private final CodeBuilder cb;
  private final AddressCode addresses;
  private final WideCode wide;

  public AtomicCode(Code code, AddressCode addresses) {
    this.code = code;
    cb = code.cb();
    this.addresses = addresses;
    wide = new WideCode(code);
  }

  public boolean emit(Op op) {
    Type type = op.type();
    List<Value> args = op.args();
    if (type == Type.B128) {
      addresses.push(op, args.get(0), op.space(), type.bytes());
      wide.atomic(op);
      return true;
    }
    if (type.bits() < 16) {
      return false;
    }
    if (args.get(1) instanceof Value.Vector(List<Value> elements)) {
      elements(op, type, elements);
      return true;
    }
    Space space = op.space();
    Type bits = type.bits() == 64 ? Type.B64 : type.bits() == 32 ? Type.B32 : Type.B16;
    String width = String.valueOf(type.bits());
    String kind = type.bits() == 64 ? "J" : "I";
    addresses.push(op, args.get(0), space, type.bytes());
    code.push(args.get(1), bits);
    if (op.has("cas")) {
      code.push(args.get(2), bits);
      code.call(Code.ATOMICS, "cas" + width, "(J" + kind + kind + ")" + kind);
    } else {
      cb.loadConstant(operation(op, type));
      boolean plain = space == Space.SHARED && type.bits() != 16;
      String method = (plain ? "plain" : "int") + width;
      code.call(Code.ATOMICS, method, "(J" + kind + "I)" + kind);
    }
    code.pop(op.results().isEmpty() ? null : op.results().get(0), bits);
    return true;
  }

  /** Each element by itself, which is all that is promised. */
  private void elements(Op op, Type type, List<Value> elements) {
    Type bits = type.bits() == 64 ? Type.B64 : type.bits() == 32 ? Type.B32 : Type.B16;
    String kind = type.bits() == 64 ? "J" : "I";
    int count = elements.size();
    addresses.push(op, op.args().get(0), op.space(), type.bytes() * count);
    for (int i = 0; i < count; i++) {
      if (i + 1 < count) {
        cb.dup2();
      }
      cb.loadConstant((long) i * type.bytes());
      cb.ladd();
      code.push(elements.get(i), bits);
      cb.loadConstant(operation(op, type));
      code.call(Code.ATOMICS, "int" + type.bits(), "(J" + kind + "I)" + kind);
      code.pop(i < op.results().size() ? op.results().get(i) : null, bits);
    }
  }

  private static int operation(Op op, Type type) {
    for (String modifier : op.modifiers()) {
      int found =
          switch (modifier) {
            case "add" -> add(type);
            case "min" -> extreme(op, type, true);
            case "max" -> extreme(op, type, false);
            case "and" -> Atomics.AND;
            case "or" -> Atomics.OR;
            case "xor" -> Atomics.XOR;
            case "exch" -> Atomics.EXCHANGE;
            case "inc" -> Atomics.INCREMENT;
            case "dec" -> Atomics.DECREMENT;
            default -> -1;
          };
      if (found >= 0) {
        return found;
      }
    }
    throw new RefusedException(op.source(), "is not supported");
  }

  private static int add(Type type) {
    return switch (type) {
      case F32, F64 -> Atomics.ADD_FLOAT;
      case F16X2 -> Atomics.ADD_HALF2;
      case BF16X2 -> Atomics.ADD_BFLOAT2;
      case F16 -> Atomics.ADD_HALF;
      case BF16 -> Atomics.ADD_BFLOAT;
      default -> Atomics.ADD;
    };
  }

  private static int extreme(Op op, Type type, boolean min) {
    if (type == Type.F32) {
      return min ? Atomics.MIN_FLOAT : Atomics.MAX_FLOAT;
    }
    if (type.isFloat()) {
      return switch (type) {
        case F16 -> min ? Atomics.MIN_HALF : Atomics.MAX_HALF;
        case BF16 -> min ? Atomics.MIN_BFLOAT : Atomics.MAX_BFLOAT;
        case F16X2 -> min ? Atomics.MIN_HALF2 : Atomics.MAX_HALF2;
        case BF16X2 -> min ? Atomics.MIN_BFLOAT2 : Atomics.MAX_BFLOAT2;
        default -> throw new RefusedException(op.source(), "is not supported");
      };
    }
    if (type.isSigned()) {
      return min ? Atomics.MIN : Atomics.MAX;
    }
    return min ? Atomics.MIN_UNSIGNED : Atomics.MAX_UNSIGNED;
  }
}
