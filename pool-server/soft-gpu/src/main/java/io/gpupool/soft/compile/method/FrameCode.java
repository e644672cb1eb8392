// SPDX-License-Identifier: Apache-2.0
package io.gpupool.soft.compile.method;

import io.gpupool.soft.compile.emit.Code;
import io.gpupool.soft.compile.emit.MemoryAccess;
import io.gpupool.soft.compile.ir.Graph;
import io.gpupool.soft.compile.ir.JvmKind;
import io.gpupool.soft.compile.ir.Op;
import io.gpupool.soft.compile.ir.RefusedException;
import io.gpupool.soft.compile.ir.VReg;
import io.gpupool.soft.compile.ir.Value;
import io.gpupool.soft.compile.lowering.FrameOps;
import io.gpupool.soft.ptx.Type;
import java.lang.classfile.CodeBuilder;
import java.lang.constant.ConstantDescs;

/**
 * Emitter of accesses to a thread's frame: registers while it waits, parameters and results of
 * calls.
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

  /** Finds the frame of the function that the thread is in, or the frames of all threads. */
  void find() {
    if (graph.hasCalls()) {
      code.pushBlock();
      code.pushThread();
      code.callBlock("frame", "(I)J");
    } else {
      code.blockField("frames", ConstantDescs.CD_long);
    }
    cb.lstore(Code.FRAME_LOCAL);
    code.blockField("frameThreads", ConstantDescs.CD_long);
    cb.lstore(Code.FRAME_THREADS_LOCAL);
  }

  void save(VReg register) {
    if (!register.inFrame()) {
      code.pushFrame(register);
      code.load(register);
      code.put(register.kind());
    }
  }

  void restore(VReg register) {
    if (!register.inFrame()) {
      code.pushFrame(register);
      code.get(register.kind());
      code.store(register);
    }
  }

  /** {@link FrameOps#GET} and {@link FrameOps#PUT}. */
  void pass(Op op) {
    Type type = op.type();
    long place = ((Value.Int) op.args().get(0)).value();
    if (place < 0 || place > graph.passedBytes() - type.bytes()) {
      throw new RefusedException(op.source(), "reaches outside of what a function is passed");
    }
    long offset = graph.registerBytes() + place;
    code.pushFrame(op.has(FrameOps.CALLEE) ? offset + graph.frameBytes() : offset);
    Type bits = type.bits() < 32 ? type : JvmKind.of(type) == JvmKind.LONG ? Type.B64 : type;
    String width = type.bits() == 8 ? "Byte" : "Short";
    if (op.opcode().equals(FrameOps.PUT)) {
      code.push(op.args().get(1), bits);
      if (type.bits() < 32) {
        code.call(MemoryAccess.nativeMemory(), "put" + width, "(JI)V");
      } else {
        code.put(JvmKind.of(bits));
      }
      return;
    }
    if (type.bits() < 32) {
      code.call(MemoryAccess.nativeMemory(), "get" + width, type.bits() == 8 ? "(J)B" : "(J)S");
      code.extend(type);
    } else {
      code.get(JvmKind.of(bits));
    }
    code.pop(op.results().get(0), bits);
  }
}
