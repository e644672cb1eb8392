// SPDX-License-Identifier: Apache-2.0
package io.gpupool.soft.compile.arithmetic;

import io.gpupool.soft.compile.emit.Code;
import io.gpupool.soft.compile.ir.Op;
import io.gpupool.soft.compile.ir.Value;
import io.gpupool.soft.ptx.Type;
import java.lang.classfile.CodeBuilder;

/** Emitter of arithmetic on two packed 16-bit integers. */
public final class PackedCode {
  private final Code code;
  private final CodeBuilder cb;

  public PackedCode(Code code) {
    this.code = code;
    cb = code.cb();
  }

  public boolean emit(Op op) {
    Type part = op.type() == Type.S16X2 ? Type.S16 : Type.U16;
    switch (op.opcode()) {
      case "add", "min", "max" -> {}
      default -> {
        return false;
      }
    }
    lane(op, part, 16);
    cb.loadConstant(16);
    cb.ishl();
    lane(op, part, 0);
    cb.i2c();
    cb.ior();
    code.pop(op.results().get(0), Type.B32);
    return true;
  }

  private void lane(Op op, Type part, int shift) {
    for (Value arg : op.args()) {
      code.push(arg, Type.B32);
      cb.loadConstant(shift);
      cb.ishr();
      code.extend(part);
    }
    if (op.opcode().equals("add")) {
      cb.iadd();
    } else {
      code.call(Code.MATH, op.opcode(), "(II)I");
    }
    if (op.has("relu")) {
      cb.iconst_0();
      code.call(Code.MATH, "max", "(II)I");
    }
  }
}
