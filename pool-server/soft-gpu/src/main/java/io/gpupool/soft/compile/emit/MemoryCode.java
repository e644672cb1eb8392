// SPDX-License-Identifier: Apache-2.0
package io.gpupool.soft.compile.emit;

import io.gpupool.soft.compile.ir.JvmKind;
import io.gpupool.soft.compile.ir.Op;
import io.gpupool.soft.compile.ir.RefusedException;
import io.gpupool.soft.compile.ir.VReg;
import io.gpupool.soft.compile.ir.Value;
import io.gpupool.soft.ptx.Space;
import io.gpupool.soft.ptx.Type;
import java.lang.classfile.CodeBuilder;
import java.lang.constant.ClassDesc;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/** Emitter of loads and stores. */
public final class MemoryCode {
  private final Code code;
  private final CodeBuilder cb;
  private final AddressCode addresses;
  private final AccessCode access;
  private final VectorCode vectors;

  /** Parameters that have been loaded already, and the locals that hold them. */
  private final Map<Op, Integer> hoisted = new HashMap<>();

  public MemoryCode(Code code, AddressCode addresses) {
    this.code = code;
    this.addresses = addresses;
    cb = code.cb();
    access = new AccessCode(code);
    vectors = new VectorCode(code, access);
  }

  public boolean emit(Op op) {
    switch (op.opcode()) {
      case "ld", "ldu" -> load(op);
      case "st" -> store(op);
      default -> {
        return copy(op);
      }
    }
    return true;
  }

  public boolean fence() {
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

  /**
   * Loads a parameter into a JVM local, from which the operation takes it later on.
   *
   * @return how many slots are taken; none if that has been done
   */
  public int hoist(Op op, int local) {
    if (hoisted.putIfAbsent(op, local) != null) {
      return 0;
    }
    Type moved = access.moved(op.type(), op.results().get(0));
    addresses.push(op, op.args().get(0), Space.PARAM, op.type().bytes());
    access.read(moved, false);
    cb.storeLocal(JvmKind.of(moved).typeKind(), local);
    return JvmKind.of(moved).typeKind().slotSize();
  }

  private void load(Op op) {
    Integer local = hoisted.get(op);
    if (local != null) {
      Type moved = access.moved(op.type(), op.results().get(0));
      cb.loadLocal(JvmKind.of(moved).typeKind(), local);
      code.pop(op.results().get(0), moved);
      return;
    }
    Type type = op.elementType();
    boolean ordered = isOrdered(op);
    addresses.push(op);
    if (op.results().size() > 1) {
      vectors.load(op.results(), type, ordered);
      return;
    }
    Type moved = access.moved(type, op.results().getFirst());
    access.read(moved, ordered);
    code.pop(op.results().getFirst(), moved);
  }

  private void store(Op op) {
    Type type = op.elementType();
    List<Value> values = op.stored();
    boolean ordered = isOrdered(op);
    addresses.push(op);
    if (values.size() > 1) {
      vectors.store(values, type, ordered);
      return;
    }
    access.store(values.getFirst(), type, ordered);
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
    if (args.size() < 3 || !(args.get(2) instanceof Value.Int(long size))) {
      return false;
    }
    if (size != 4 && size != 8 && size != 16) {
      throw new RefusedException(op.source(), "copies " + size + " bytes, not 4, 8 or 16");
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
    code.call(Code.ADDRESS_TRANSLATION, "copy", "(JII" + AddressCode.block() + "J)V");
    return true;
  }
}
