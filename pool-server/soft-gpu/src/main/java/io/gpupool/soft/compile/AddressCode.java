// SPDX-License-Identifier: Apache-2.0
package io.gpupool.soft.compile;

import io.gpupool.soft.ptx.Space;
import io.gpupool.soft.ptx.Type;
import java.lang.classfile.CodeBuilder;
import java.lang.constant.ConstantDescs;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/** Emits the addresses of memory accesses, checked. */
final class AddressCode {
  private final Code code;
  private final CodeBuilder cb;

  /** Accesses of rows of threads that have been checked, and the locals of their addresses. */
  private final Map<Op, EvenAddress> checked = new HashMap<>();

  /**
   * The address {@code local + slope * thread}.
   *
   * @param local JVM local
   * @param slope bytes from thread to thread
   */
  private record EvenAddress(int local, long slope) {}

  AddressCode(Code code) {
    this.code = code;
    cb = code.cb();
  }

  static Space space(Op op) {
    for (String modifier : op.modifiers()) {
      switch (modifier) {
        case "global" -> {
          return Space.GLOBAL;
        }
        case "shared", "shared::cta", "shared::cluster" -> {
          return Space.SHARED;
        }
        case "local" -> {
          return Space.LOCAL;
        }
        case "const" -> {
          return Space.CONST;
        }
        case "param", "param::entry", "param::func" -> {
          return Space.PARAM;
        }
        default -> {}
      }
    }
    return Space.GENERIC;
  }

  /** Bytes that a load or store touches. */
  static int bytes(Op op) {
    int count = op.opcode().equals("st") ? stored(op).size() : op.results().size();
    return elementType(op).bytes() * count;
  }

  /** A register of 128 bits is two of 64. */
  static Type elementType(Op op) {
    return op.type() == Type.B128 ? Type.B64 : op.type();
  }

  static List<Value> stored(Op op) {
    return op.args().get(1) instanceof Value.Vector(List<Value> elements)
        ? elements
        : List.of(op.args().get(1));
  }

  /** Pushes the address that a load or store names, unchecked. */
  void pushUnchecked(Op op) {
    Value.Memory operand = (Value.Memory) op.args().getFirst();
    pushLong(operand.base(), operand.offset());
  }

  /**
   * From here on an access's address is known to be good for all threads of the row.
   *
   * @param local JVM local with what the address of thread 0 would be
   * @param slope bytes from thread to thread
   */
  void check(Op op, int local, long slope) {
    checked.put(op, new EvenAddress(local, slope));
  }

  /** Every access is checked by itself again. */
  void forgetChecked() {
    checked.clear();
  }

  /** Pushes the native address of a load or store, checked now or before. */
  void push(Op op) {
    EvenAddress even = checked.get(op);
    if (even == null) {
      push(op, op.args().get(0), space(op), bytes(op));
      return;
    }
    cb.lload(even.local());
    if (even.slope() != 0) {
      code.pushThread();
      cb.i2l();
      cb.loadConstant(even.slope());
      cb.lmul();
      cb.ladd();
    }
  }

  /** Pushes the native address of an access after checking it. */
  void push(Op op, Value operand, Space space, int bytes) {
    if (!(operand instanceof Value.Memory(Value base, long offset))) {
      throw new RefusedException(op.source(), "has no memory operand where one is needed");
    }
    if (space == Space.PARAM && base instanceof Value.Int(long constant)) {
      code.blockField("params", ConstantDescs.CD_long);
      cb.loadConstant(constant + offset);
      cb.ladd();
      return;
    }
    code.pushBlock();
    switch (space) {
      case SHARED -> {
        boolean narrow =
            base instanceof VReg register
                ? register.type().bits() == 32
                : base instanceof Value.Int(long constant) && constant + offset < 1 << 30;
        if (narrow) {
          pushInt(base, offset);
        } else {
          pushLong(base, offset);
        }
        cb.loadConstant(bytes);
        String narrowOrWide = narrow ? "I" : "J";
        code.call(Code.CHECKS, "shared", "(" + block() + narrowOrWide + "I)J");
      }
      case LOCAL, GENERIC -> {
        code.pushThread();
        pushLong(base, offset);
        cb.loadConstant(bytes);
        String method = space == Space.LOCAL ? "local" : "generic";
        code.call(
            space == Space.LOCAL ? Code.CHECKS : MemoryAccess.checks(),
            method,
            "(" + block() + "IJI)J");
      }
      case GLOBAL, CONST, PARAM -> {
        pushLong(base, offset);
        cb.loadConstant(bytes);
        String method = space == Space.PARAM ? "param" : "global";
        code.call(
            space == Space.PARAM ? Code.CHECKS : MemoryAccess.checks(),
            method,
            "(" + block() + "JI)J");
      }
    }
  }

  static String block() {
    return Code.BLOCK.descriptorString();
  }

  private void pushInt(Value base, long offset) {
    if (base instanceof Value.Int(long constant)) {
      cb.loadConstant((int) (constant + offset));
      return;
    }
    code.push(base, Type.U32);
    if (offset != 0) {
      cb.loadConstant((int) offset);
      cb.iadd();
    }
  }

  void pushLong(Value base, long offset) {
    if (base instanceof Value.Int(long constant)) {
      cb.loadConstant(constant + offset);
      return;
    }
    code.push(base, Type.U64);
    if (offset != 0) {
      cb.loadConstant(offset);
      cb.ladd();
    }
  }
}
