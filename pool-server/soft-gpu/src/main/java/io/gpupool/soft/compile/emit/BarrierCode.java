// SPDX-License-Identifier: Apache-2.0
package io.gpupool.soft.compile.emit;

import io.gpupool.soft.compile.ir.JvmKind;
import io.gpupool.soft.compile.ir.Op;
import io.gpupool.soft.compile.ir.RefusedException;
import io.gpupool.soft.compile.ir.VReg;
import io.gpupool.soft.compile.ir.Value;
import io.gpupool.soft.exec.access.AddressTranslation;
import io.gpupool.soft.ptx.Space;
import io.gpupool.soft.ptx.Type;
import java.lang.classfile.CodeBuilder;
import java.util.List;

/** Emitter of operations on {@code mbarrier} objects, and the copies that report to them. */
public final class BarrierCode {
  private final Code code;
  private final CodeBuilder cb;
  private final AddressCode addresses;
  private final TensorCode tensors;

  public BarrierCode(Code code, AddressCode addresses) {
    this.code = code;
    cb = code.cb();
    this.addresses = addresses;
    tensors = new TensorCode(code, addresses);
  }

  public boolean emit(Op op) {
    List<Value> args = op.args();
    VReg result = op.results().isEmpty() ? null : op.results().get(0);
    switch (op.modifiers().getFirst()) {
      case "init" -> {
        pushBarrier(op, args.get(0));
        code.push(args.get(1), Type.U32);
        code.call(Code.BARRIERS, "init", "(JI)V");
      }
      case "inval" -> {
        pushBarrier(op, args.get(0));
        cb.pop2();
      }
      case "arrive" -> {
        pushBarrier(op, args.get(0));
        pushCount(args);
        code.call(Code.BARRIERS, op.has("expect_tx") ? "arriveExpecting" : "arrive", "(JI)J");
        code.pop(result, Type.B64);
      }
      case "arrive_drop" -> {
        pushBarrier(op, args.get(0));
        if (op.has("expect_tx")) {
          cb.dup2();
          code.push(args.get(1), Type.U32);
          code.call(Code.BARRIERS, "expectBytes", "(JI)V");
          cb.iconst_1();
        } else {
          pushCount(args);
        }
        code.call(Code.BARRIERS, "arriveAndDrop", "(JI)J");
        code.pop(result, Type.B64);
      }
      case "expect_tx", "complete_tx" -> {
        pushBarrier(op, args.get(0));
        code.push(args.get(1), Type.U32);
        if (op.modifiers().getFirst().equals("complete_tx")) {
          cb.ineg();
        }
        code.call(Code.BARRIERS, "expectBytes", "(JI)V");
      }
      case "test_wait", "try_wait" -> {
        boolean parity = op.has("parity");
        pushBarrier(op, args.get(0));
        code.push(args.get(1), parity ? Type.U32 : Type.U64);
        code.call(Code.BARRIERS, parity ? "testParity" : "test", parity ? "(JI)I" : "(JJ)I");
        code.giveWayUnlessDone();
        code.popPredicate(result);
      }
      case "pending_count" -> {
        code.push(args.get(0), Type.U64);
        code.call(Code.BARRIERS, "pendingCount", "(J)I");
        code.pop(result, Type.B32);
      }
      default -> {
        return false;
      }
    }
    return true;
  }

  private void pushCount(List<Value> args) {
    if (args.size() > 1) {
      code.push(args.get(1), Type.U32);
    } else {
      cb.iconst_1();
    }
  }

  private void pushBarrier(Op op, Value address) {
    addresses.push(op, address, op.space(), Long.BYTES);
  }

  /** Copies that end at a barrier; all copies are made at once, so that no wait takes any time. */
  public boolean copy(Op op) {
    if (!op.has("bulk")) {
      // What this thread copied has arrived: the count that awaits it goes up and down again.
      if (op.has("noinc")) {
        pushBarrier(op, op.args().get(0));
        cb.iconst_1();
        code.call(Code.BARRIERS, "arrive", "(JI)J");
        cb.pop2();
      }
      return true;
    }
    if (op.has("commit_group") || op.has("wait_group") || op.has("prefetch")) {
      return true;
    }
    if (op.has("tensor")) {
      return tensors.copy(op);
    }
    if (op.has("reduce")) {
      return tensors.reduce(op);
    }
    List<String> spaces =
        op.modifiers().stream()
            .filter(modifier -> modifier.startsWith("shared") || modifier.equals("global"))
            .toList();
    List<Value> args = op.args();
    if (spaces.size() != 2 || args.size() < 3) {
      return false;
    }
    if (op.has("multicast::cluster")) {
      code.pushBlock();
      pushPlace(op, args.get(0));
      pushPlace(op, args.get(1));
      code.push(args.get(2), Type.U32);
      pushPlace(op, args.get(3));
      code.push(args.get(4), Type.U16);
      code.call(Code.CLUSTER_MEMORY, "multicast", "(" + AddressCode.block() + "JJIJI)V");
      return true;
    }
    code.pushBlock();
    pushPlace(op, args.get(0));
    cb.loadConstant(space(spaces.get(0)));
    pushPlace(op, args.get(1));
    cb.loadConstant(space(spaces.get(1)));
    code.push(args.get(2), Type.U32);
    code.call(Code.ADDRESS_TRANSLATION, "copyBulk", "(" + AddressCode.block() + "JIJII)V");
    if (op.has("mbarrier::complete_tx::bytes")) {
      addresses.push(op, args.get(3), Space.SHARED, Long.BYTES);
      code.push(args.get(2), Type.U32);
      cb.ineg();
      code.call(Code.BARRIERS, "expectBytes", "(JI)V");
    }
    return true;
  }

  /** A store to, or an operation on, another block's memory, which ends at a barrier there. */
  public boolean remote(Op op, AtomicCode atomics) {
    List<Value> args = op.args();
    if (args.size() != 3 || !op.has("mbarrier::complete_tx::bytes")) {
      return false;
    }
    int bytes = op.type().bytes();
    if (op.opcode().equals("red")) {
      atomics.emit(op);
    } else {
      List<Value> values = op.stored();
      bytes *= values.size();
      addresses.push(op, args.get(0), Space.SHARED, bytes);
      store(op.type().bits() == 64, values);
    }
    addresses.push(op, args.get(2), Space.SHARED, Long.BYTES);
    cb.loadConstant(-bytes);
    code.call(Code.BARRIERS, "expectBytes", "(JI)V");
    return true;
  }

  /** Stores values side by side at the address on the stack. */
  private void store(boolean wide, List<Value> values) {
    for (int i = 0; i < values.size(); i++) {
      cb.dup2();
      cb.loadConstant((long) i * (wide ? Long.BYTES : Integer.BYTES));
      cb.ladd();
      code.push(values.get(i), wide ? Type.B64 : Type.B32);
      code.put(wide ? JvmKind.LONG : JvmKind.INT);
    }
    cb.pop2();
  }

  private void pushPlace(Op op, Value place) {
    if (!(place instanceof Value.Memory(Value base, long offset))) {
      throw new RefusedException(op.source(), "has no memory operand where one is needed");
    }
    addresses.pushLong(base, offset);
  }

  private static int space(String name) {
    return switch (name) {
      case "global" -> AddressTranslation.IN_GLOBAL;
      case "shared::cluster" -> AddressTranslation.IN_CLUSTER;
      default -> AddressTranslation.IN_SHARED;
    };
  }
}
