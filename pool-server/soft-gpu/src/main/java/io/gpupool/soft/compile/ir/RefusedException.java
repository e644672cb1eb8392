// SPDX-License-Identifier: Apache-2.0
package io.gpupool.soft.compile.ir;

import io.gpupool.soft.ptx.Function;
import io.gpupool.soft.ptx.Statement.Instruction;

/** An instruction, or a whole kernel, cannot be compiled; becomes a {@link CompileException}. */
public final class RefusedException extends RuntimeException {
  private final boolean located;

  public RefusedException(Instruction instruction, String reason) {
    super(place(instruction.line(), instruction.column()) + instruction.text() + " " + reason);
    located = true;
  }

  /** What belongs to no one instruction. */
  public RefusedException(String reason) {
    super(reason);
    located = false;
  }

  /** The exception that users see, with line and column; those of the kernel for want of others. */
  public CompileException in(Function kernel) {
    String place = located ? "" : place(kernel.line(), 1);
    return new CompileException("kernel " + kernel.name() + ": " + place + getMessage());
  }

  private static String place(int line, int column) {
    return "line " + line + ", column " + column + ": ";
  }
}
