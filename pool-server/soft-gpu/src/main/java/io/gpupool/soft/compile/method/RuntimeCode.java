// SPDX-License-Identifier: Apache-2.0
package io.gpupool.soft.compile.method;

import io.gpupool.soft.compile.emit.AddressCode;
import io.gpupool.soft.compile.emit.Code;
import io.gpupool.soft.compile.ir.Op;
import io.gpupool.soft.compile.ir.Value;
import io.gpupool.soft.exec.call.RuntimeCalls;
import io.gpupool.soft.ptx.RuntimeFunction;
import io.gpupool.soft.ptx.Type;
import java.lang.constant.ClassDesc;
import java.util.Iterator;
import java.util.Optional;

/** Emitter of calls of CUDA's device runtime. */
final class RuntimeCode {
  private static final ClassDesc CALLS = Code.desc(RuntimeCalls.class);

  private final Code code;

  RuntimeCode(Code code) {
    this.code = code;
  }

  /** Emits a call; false if it is of no function of the device runtime. */
  boolean emit(Op op) {
    String name = op.modifiers().getFirst();
    if (name.equals(Op.LAUNCHES_DONE)) {
      code.pushBlock();
      code.call(CALLS, "launchesDone", "(" + AddressCode.block() + ")I");
      code.giveWayUnlessDone();
      code.popPredicate(op.results().getFirst());
      return true;
    }
    Optional<RuntimeFunction> named = RuntimeFunction.named(name);
    named.ifPresent(function -> emit(op, function));
    return named.isPresent();
  }

  private void emit(Op op, RuntimeFunction function) {
    StringBuilder descriptor = new StringBuilder("(").append(AddressCode.block()).append('I');
    code.pushBlock();
    code.pushThread();
    Iterator<Value> args = op.args().iterator();
    for (char kind : function.params().toCharArray()) {
      boolean narrow = RuntimeFunction.pieceBytes(kind) == Integer.BYTES;
      for (int i = 0; i < RuntimeFunction.pieces(kind); i++) {
        code.push(args.next(), narrow ? Type.B32 : Type.B64);
        descriptor.append(narrow ? 'I' : 'J');
      }
      if (kind == RuntimeFunction.STREAM && function.perThread()) {
        code.call(CALLS, "perThread", "(J)J");
      }
    }
    boolean narrow = function.result() == RuntimeFunction.INT;
    descriptor.append(')').append(narrow ? 'I' : 'J');
    String method = function.method();
    code.call(
        CALLS,
        Character.toLowerCase(method.charAt(0)) + method.substring(1),
        descriptor.toString());
    code.pop(op.results().isEmpty() ? null : op.results().getFirst(), narrow ? Type.B32 : Type.B64);
  }
}
