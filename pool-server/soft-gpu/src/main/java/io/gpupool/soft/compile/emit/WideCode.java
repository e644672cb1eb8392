// SPDX-License-Identifier: Apache-2.0
package io.gpupool.soft.compile.emit;

import io.gpupool.soft.compile.ir.Op;
import io.gpupool.soft.compile.ir.RefusedException;
import io.gpupool.soft.compile.ir.Value;
import io.gpupool.soft.exec.memory.WideAtomics;
import io.gpupool.soft.ptx.Type;
import java.lang.classfile.CodeBuilder;
import java.lang.constant.ClassDesc;
import java.util.List;

/** Emitter of atomic operations on 128 bits; the checked address is on the stack. */
final class WideCode {
  private static final ClassDesc WIDE = Code.desc(WideAtomics.class);

  private final Code code;
  private final CodeBuilder cb;

  WideCode(Code code) {
    this.code = code;
    cb = code.cb();
  }

  /** {@code atom.exch} and {@code atom.cas}. */
  void atomic(Op op) {
    if (!op.has("exch") && !op.has("cas")) {
      throw new RefusedException(op.source(), "is not supported");
    }
    pushHalves(op, 1);
    if (op.has("cas")) {
      pushHalves(op, 2);
      code.call(WIDE, "compareAndExchange", "(JJJJJ)[J");
    } else {
      code.call(WIDE, "exchange", "(JJJ)[J");
    }
    take(op);
  }

  private void pushHalves(Op op, int index) {
    if (!(op.args().get(index) instanceof Value.Vector(List<Value> halves))) {
      throw new RefusedException(op.source(), "needs registers of 128 bits");
    }
    code.pushAll(halves, Type.B64);
  }

  private void take(Op op) {
    for (int i = 0; i < 2; i++) {
      cb.dup();
      cb.loadConstant(i);
      cb.laload();
      code.pop(op.results().size() > 1 ? op.results().get(i) : null, Type.B64);
    }
    cb.pop();
  }
}
