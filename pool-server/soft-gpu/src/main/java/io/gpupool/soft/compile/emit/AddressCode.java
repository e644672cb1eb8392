// SPDX-License-Identifier: Apache-2.0
package io.gpupool.soft.compile.emit;

import io.gpupool.soft.compile.ir.Op;
import io.gpupool.soft.compile.ir.RefusedException;
import io.gpupool.soft.compile.ir.VReg;
import io.gpupool.soft.compile.ir.Value;
import io.gpupool.soft.ptx.Space;
import io.gpupool.soft.ptx.Type;
import java.lang.classfile.CodeBuilder;
import java.lang.constant.ConstantDescs;
import java.util.HashMap;
import java.util.Map;

/**
 * Emitter of the addresses of memory accesses, checked. Every native address of a kernel's memory
 * that generated code reads or writes by itself comes from {@link #push}, but for those of frames.
 */
public final class AddressCode {
  /** Longest access, of eight words. */
  private static final int MAX_BYTES = 32;

  private final Code code;
  private final CodeBuilder cb;
  private final int paramBytes;

  /** Accesses of rows of threads that have been checked, and the locals of their addresses. */
  private final Map<Op, EvenAddress> checked = new HashMap<>();

  /**
   * The address {@code local + slope * thread}.
   *
   * @param local JVM local
   * @param slope bytes from thread to thread
   */
  private record EvenAddress(int local, long slope) {}

  /**
   * Addresses in the code of a kernel.
   *
   * @param paramBytes length of its parameter block
   */
  public AddressCode(Code code, int paramBytes) {
    this.code = code;
    this.paramBytes = paramBytes;
    cb = code.cb();
  }

  /** The checks take an access to be no longer than what it is aligned to. */
  private static void requireWidth(Op op, int bytes) {
    if (bytes < 1 || bytes > MAX_BYTES || Integer.bitCount(bytes) != 1) {
      throw new RefusedException(op.source(), "accesses " + bytes + " bytes at once");
    }
  }

  /** Pushes the address that a load or store names, unchecked. */
  public void pushUnchecked(Op op) {
    Value.Memory operand = (Value.Memory) op.args().getFirst();
    pushLong(operand.base(), operand.offset());
  }

  /**
   * From here on an access's address is known to be good for all threads of the row.
   *
   * @param local JVM local with what the address of thread 0 would be
   * @param slope bytes from thread to thread
   */
  public void check(Op op, int local, long slope) {
    checked.put(op, new EvenAddress(local, slope));
  }

  /** Every access is checked by itself again. */
  public void forgetChecked() {
    checked.clear();
  }

  /** Pushes the native address of a load or store, checked now or before. */
  public void push(Op op) {
    EvenAddress even = checked.get(op);
    if (even == null) {
      push(op, op.args().get(0), op.space(), op.accessedBytes());
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
  public void push(Op op, Value operand, Space space, int bytes) {
    if (!(operand instanceof Value.Memory(Value base, long offset))) {
      throw new RefusedException(op.source(), "has no memory operand where one is needed");
    }
    requireWidth(op, bytes);
    if (space == Space.PARAM && !op.opcode().equals("ld")) {
      throw new RefusedException(
          op.source(), "accesses the kernel's parameters, which can only be loaded");
    }
    if (space == Space.PARAM && base instanceof Value.Int(long constant)) {
      pushParam(op, constant + offset, bytes);
      return;
    }
    code.pushBlock();
    switch (space) {
      case SHARED -> pushShared(op, base, offset, bytes);
      case LOCAL, GENERIC -> {
        code.pushThread();
        pushLong(base, offset);
        cb.loadConstant(bytes);
        String method = space == Space.LOCAL ? "local" : "generic";
        code.call(
            space == Space.LOCAL ? Code.ADDRESS_TRANSLATION : MemoryAccess.addressTranslation(),
            method,
            "(" + block() + "IJI)J");
      }
      case GLOBAL, CONST, PARAM -> {
        pushLong(base, offset);
        cb.loadConstant(bytes);
        String method = space == Space.PARAM ? "param" : "global";
        code.call(
            space == Space.PARAM ? Code.ADDRESS_TRANSLATION : MemoryAccess.addressTranslation(),
            method,
            "(" + block() + "JI)J");
      }
    }
  }

  /** Pushes the native address of a parameter, whose place is known. */
  private void pushParam(Op op, long place, int bytes) {
    if (place < 0 || place > paramBytes - bytes) {
      throw new RefusedException(
          op.source(), "reads outside of the kernel's parameters, of " + paramBytes + " bytes");
    }
    code.blockField("params", ConstantDescs.CD_long);
    cb.loadConstant(place);
    cb.ladd();
  }

  /** Turns the block on the stack into the native address of an access to shared memory. */
  private void pushShared(Op op, Value base, long offset, int bytes) {
    boolean cluster = op.has("shared::cluster");
    boolean narrow =
        base instanceof VReg register
            ? register.type().bits() == 32
            : base instanceof Value.Int(long constant) && constant + offset < 1 << 30;
    if (narrow && !cluster) {
      pushInt(base, offset);
    } else {
      pushLong(base, offset);
    }
    cb.loadConstant(bytes);
    if (cluster) {
      code.call(Code.ADDRESS_TRANSLATION, "sharedCluster", "(" + block() + "JI)J");
      return;
    }
    String narrowOrWide = narrow ? "I" : "J";
    code.call(Code.ADDRESS_TRANSLATION, "shared", "(" + block() + narrowOrWide + "I)J");
  }

  public static String block() {
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

  public void pushLong(Value base, long offset) {
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
