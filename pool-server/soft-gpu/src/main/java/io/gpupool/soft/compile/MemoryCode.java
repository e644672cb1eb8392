// SPDX-License-Identifier: Apache-2.0
package io.gpupool.soft.compile;

import io.gpupool.soft.ptx.Space;
import io.gpupool.soft.ptx.Type;
import java.lang.classfile.CodeBuilder;
import java.lang.constant.ClassDesc;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/** Emits loads and stores. */
final class MemoryCode {
  private final Code code;
  private final CodeBuilder cb;
  private final AddressCode addresses;
  private final WideCode wide;

  /** Parameters that have been loaded already, and the locals that hold them. */
  private final Map<Op, Integer> hoisted = new HashMap<>();

  MemoryCode(Code code, AddressCode addresses) {
    this.code = code;
    this.addresses = addresses;
    cb = code.cb();
    wide = new WideCode(code);
  }

  boolean emit(Op op) {
    switch (op.opcode()) {
      case "ld", "ldu" -> load(op);
      case "st" -> store(op);
      default -> {
        return copy(op);
      }
    }
    return true;
  }

  boolean fence() {
    code.call(ClassDesc.of("java.lang.invoke.VarHandle"), "fullFence", "()V");
    return true;
  }

  private static boolean isOrdered(Op op) {
    return op.has("volatile")
        || op.has("relaxed")
        || op.has("acquire")
        || op.has("release")
        || op.has("mmio");
  }

  /** The type to move: what the register holds, so that no bits change kind on the way. */
  private static Type moved(Op op, Type type, VReg register) {
    if (register != null && register.type().bits() == type.bits()) {
      switch (register.kind()) {
        case FLOAT -> {
          return Type.F32;
        }
        case DOUBLE -> {
          return Type.F64;
        }
        case INT, LONG -> {
          return switch (type) {
            case F32, F16X2, BF16X2 -> Type.B32;
            case F64 -> Type.B64;
            case F16, BF16 -> Type.B16;
            default -> type;
          };
        }
      }
    }
    return type;
  }

  /**
   * Loads a parameter into a JVM local, from which the operation takes it later on.
   *
   * @return how many slots are taken; none if that has been done
   */
  int hoist(Op op, int local) {
    if (hoisted.putIfAbsent(op, local) != null) {
      return 0;
    }
    Type moved = moved(op, op.type(), op.results().get(0));
    addresses.push(op, op.args().get(0), Space.PARAM, op.type().bytes());
    read(moved, false);
    cb.storeLocal(JvmKind.of(moved).typeKind(), local);
    return JvmKind.of(moved).typeKind().slotSize();
  }

  private void load(Op op) {
    Integer local = hoisted.get(op);
    if (local != null) {
      Type moved = moved(op, op.type(), op.results().get(0));
      cb.loadLocal(JvmKind.of(moved).typeKind(), local);
      code.pop(op.results().get(0), moved);
      return;
    }
    Type type = AddressCode.elementType(op);
    int count = op.results().size();
    boolean ordered = isOrdered(op);
    addresses.push(op);
    if (ordered && type.bits() == 64 && count == 2) {
      // As on a card, no other access comes between the halves: look-back scans count on that.
      wide.load(op);
      return;
    }
    for (int i = 0; i < count; i++) {
      VReg result = op.results().get(i);
      Type moved = moved(op, type, result);
      if (i + 1 < count) {
        cb.dup2();
      }
      addOffset((long) i * type.bytes());
      read(moved, ordered);
      code.pop(result, moved);
    }
  }

  private static ClassDesc owner(boolean ordered) {
    return ordered ? Code.RAW : MemoryAccess.raw();
  }

  private void addOffset(long offset) {
    if (offset != 0) {
      cb.loadConstant(offset);
      cb.ladd();
    }
  }

  private void read(Type type, boolean ordered) {
    String verb = ordered ? "acquire" : "get";
    switch (type.bits()) {
      case 8 -> code.call(owner(ordered), verb + "Byte", "(J)B");
      case 16 -> code.call(owner(ordered), verb + "Short", "(J)S");
      case 32 -> {
        if (type == Type.F32 && !ordered) {
          code.call(MemoryAccess.raw(), "getFloat", "(J)F");
        } else {
          code.call(owner(ordered), verb + "Int", "(J)I");
          if (type == Type.F32) {
            code.call(Code.FLOAT, "intBitsToFloat", "(I)F");
          }
        }
      }
      default -> {
        if (type == Type.F64 && !ordered) {
          code.call(MemoryAccess.raw(), "getDouble", "(J)D");
        } else {
          code.call(owner(ordered), verb + "Long", "(J)J");
          if (type == Type.F64) {
            code.call(Code.DOUBLE, "longBitsToDouble", "(J)D");
          }
        }
      }
    }
    if (type.bits() < 32) {
      code.extend(type);
    }
  }

  private void store(Op op) {
    Type type = AddressCode.elementType(op);
    List<Value> values = AddressCode.stored(op);
    boolean ordered = isOrdered(op);
    addresses.push(op);
    if (ordered && type.bits() == 64 && values.size() == 2) {
      wide.store(values);
      return;
    }
    for (int i = 0; i < values.size(); i++) {
      if (i + 1 < values.size()) {
        cb.dup2();
      }
      addOffset((long) i * type.bytes());
      Value value = values.get(i);
      Type moved =
          value instanceof VReg register ? moved(op, type, register) : moved(op, type, null);
      if (moved.bits() == 16) {
        moved = Type.B16;
      }
      write(value, moved, ordered);
    }
  }

  private void write(Value value, Type type, boolean ordered) {
    if (!ordered && type == Type.F32) {
      code.push(value, type);
      code.call(MemoryAccess.raw(), "putFloat", "(JF)V");
      return;
    }
    if (!ordered && type == Type.F64) {
      code.push(value, type);
      code.call(MemoryAccess.raw(), "putDouble", "(JD)V");
      return;
    }
    String verb = ordered ? "release" : "put";
    switch (type.bits()) {
      case 8 -> {
        code.push(value, Type.B8);
        code.call(owner(ordered), verb + "Byte", "(JI)V");
      }
      case 16 -> {
        code.push(value, Type.B16);
        code.call(owner(ordered), verb + "Short", "(JI)V");
      }
      case 32 -> {
        code.push(value, Type.B32);
        code.call(owner(ordered), verb + "Int", "(JI)V");
      }
      default -> {
        code.push(value, Type.B64);
        code.call(owner(ordered), verb + "Long", "(JJ)V");
      }
    }
  }

  /** {@code cp.async}: the copy is made at once, so that waiting for it is free. */
  private boolean copy(Op op) {
    if (!op.has("async") || op.has("bulk") || op.modifiers().contains("mbarrier")) {
      return false;
    }
    if (op.has("commit_group") || op.has("wait_group") || op.has("wait_all")) {
      return true;
    }
    List<Value> args = op.args();
    if (args.size() < 3 || !(args.get(2) instanceof Value.Int(long size)) || size > 16) {
      return false;
    }
    addresses.push(op, args.get(0), Space.SHARED, (int) size);
    if (args.size() > 3 && !(args.get(3) instanceof VReg policy && policy.type().bits() == 64)) {
      code.push(args.get(3), Type.U32);
      if (args.get(3) instanceof VReg ignore && ignore.type() == Type.PRED) {
        // The predicate asks for zeros instead of data.
        cb.iconst_1();
        cb.ixor();
        cb.loadConstant((int) size);
        cb.imul();
      }
    } else {
      cb.loadConstant((int) size);
    }
    cb.loadConstant((int) size);
    code.pushBlock();
    if (!(args.get(1) instanceof Value.Memory(Value base, long offset))) {
      return false;
    }
    addresses.pushLong(base, offset);
    code.call(Code.CHECKS, "copy", "(JII" + AddressCode.block() + "J)V");
    return true;
  }
}
