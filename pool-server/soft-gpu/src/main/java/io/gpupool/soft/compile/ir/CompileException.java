// SPDX-License-Identifier: Apache-2.0
package io.gpupool.soft.compile.ir;

/** A kernel uses something that the compiler does not support; names the instruction and line. */
public final class CompileException extends Exception {
  public CompileException(String message) {
    super(message);
  }
}
