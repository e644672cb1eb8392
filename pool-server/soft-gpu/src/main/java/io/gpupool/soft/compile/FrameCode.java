// SPDX-License-Identifier: Apache-2.0
package io.gpupool.soft.compile;

import io.gpupool.soft.ptx.Type;
import java.lang.classfile.CodeBuilder;
import java.lang.constant.ConstantDescs;

/**
 * Emits accesses to a thread's frame: registers while it waits, parameters and results of calls.
 */
final class FrameCode {
  private final Code code;
  private final CodeBuilder cb;
  private final Graph graph;

  FrameCode(Code code, Graph graph) {
    this.code = code;
    this.graph = graph;
    cb = code.cb();
  }

  void save(VReg register) {
    pushAddress(register.frameOffset());
    code.load(register);
    put(register.kind());
  }

  void restore(VReg register) {
    pushAddress(register.frameOffset());
    get(register.kind());
    code.store(register);
  }

  /** {@link FrameOps#GET} and {@link FrameOps#PUT}. */
  void pass(Op op) {
    Type type = op.type();
    long offset = ((Value.Int) op.args().get(0)).value() + graph.registerBytes();
    pushAddress(op.has(FrameOps.CALLEE) ? offset + graph.frameBytes() : offset);
    Type bits = type.bits() < 32 ? type : JvmKind.of(type) == JvmKind.LONG ? Type.B64 : type;
    String width = type.bits() == 8 ? "Byte" : "Short";
    if (op.opcode().equals(FrameOps.PUT)) {
      code.push(op.args().get(1), bits);
      if (type.bits() < 32) {
        code.call(MemoryAccess.raw(), "put" + width, "(JI)V");
      } else {
        put(JvmKind.of(bits));
      }
      return;
    }
    if (type.bits() < 32) {
      code.call(MemoryAccess.raw(), "get" + width, type.bits() == 8 ? "(J)B" : "(J)S");
      code.extend(type);
    } else {
      get(JvmKind.of(bits));
    }
    code.pop(op.results().get(0), bits);
  }

  private void put(JvmKind kind) {
    switch (kind) {
      case INT -> code.call(MemoryAccess.raw(), "putInt", "(JI)V");
      case LONG -> code.call(MemoryAccess.raw(), "putLong", "(JJ)V");
      case FLOAT -> code.call(MemoryAccess.raw(), "putFloat", "(JF)V");
      case DOUBLE -> code.call(MemoryAccess.raw(), "putDouble", "(JD)V");
    }
  }

  private void get(JvmKind kind) {
    switch (kind) {
      case INT -> code.call(MemoryAccess.raw(), "getInt", "(J)I");
      case LONG -> code.call(MemoryAccess.raw(), "getLong", "(J)J");
      case FLOAT -> code.call(MemoryAccess.raw(), "getFloat", "(J)F");
      case DOUBLE -> code.call(MemoryAccess.raw(), "getDouble", "(J)D");
    }
  }

  private void pushAddress(long offset) {
    if (graph.hasCalls()) {
      code.pushBlock();
      code.pushThread();
      code.callBlock("frame", "(I)J");
    } else {
      code.blockField("frames", ConstantDescs.CD_long);
      code.blockField("frameStride", ConstantDescs.CD_long);
      code.pushThread();
      cb.i2l();
      cb.lmul();
      cb.ladd();
    }
    if (offset != 0) {
      cb.loadConstant(offset);
      cb.ladd();
    }
  }
}
