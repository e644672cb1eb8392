// SPDX-License-Identifier: Apache-2.0
package io.gpupool.soft.compile.lowering;

import io.gpupool.soft.ptx.Statement.Instruction;

/** The instructions that make a thread wait for others. */
public final class Waits {
  private Waits() {}

  static boolean isWait(Instruction instruction) {
    return switch (instruction.opcode()) {
      case "shfl", "vote", "match", "redux", "activemask", "nanosleep", "elect" -> true;
      case "bar", "barrier" -> !instruction.has("arrive");
      default -> isMatrixWait(instruction);
    };
  }

  /** Whether an instruction multiplies or moves matrices, for which all lanes come together. */
  public static boolean isMatrixWait(Instruction instruction) {
    return switch (instruction.opcode()) {
      case "mma", "ldmatrix", "stmatrix", "movmatrix" -> true;
      case "wmma" -> instruction.has("mma");
      default -> false;
    };
  }
}
