// SPDX-License-Identifier: Apache-2.0
package io.gpupool.soft.compile.lowering;

import io.gpupool.soft.compile.ir.RefusedException;
import io.gpupool.soft.ptx.Operand;
import io.gpupool.soft.ptx.Statement.Instruction;
import java.util.ArrayList;
import java.util.List;

/** The operands of a call, told apart. */
record CallParts(List<Operand> results, Operand target, List<Operand> args) {
  static CallParts of(Instruction call) {
    List<Operand> rest = new ArrayList<>(call.operands());
    List<Operand> results = takeList(rest);
    if (rest.isEmpty()) {
      throw new RefusedException(call, "names no function");
    }
    Operand target = rest.remove(0);
    return new CallParts(results, target, takeList(rest));
  }

  private static List<Operand> takeList(List<Operand> rest) {
    if (!rest.isEmpty() && rest.get(0) instanceof Operand.Vector list) {
      rest.remove(0);
      return list.elements();
    }
    return List.of();
  }
}
