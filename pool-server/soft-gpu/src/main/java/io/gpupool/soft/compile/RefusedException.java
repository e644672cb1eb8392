// SPDX-License-Identifier: Apache-2.0
package io.gpupool.soft.compile;

import io.gpupool.soft.ptx.Statement.Instruction;

/** An instruction cannot be compiled; becomes a {@link CompileException}. */
final class RefusedException extends RuntimeException {
  RefusedException(Instruction instruction, String reason) {
    super("line " + instruction.line() + ": " + instruction.text() + " " + reason);
  }

  RefusedException(String reason) {
    super(reason);
  }
}
