// SPDX-License-Identifier: Apache-2.0
package io.gpupool.soft.ptx;

/** PTX text that cannot be accepted; the message has the form that ptxas gives its own. */
public final class PtxException extends Exception {
  private final int line;
  private final int column;

  public PtxException(int line, int column, String problem) {
    super("ptxas application ptx input, line " + line + "; error   : " + problem);
    this.line = line;
    this.column = column;
  }

  /** Line of the offending token, from 1. */
  public int line() {
    return line;
  }

  /** Column of the offending token, from 1. */
  public int column() {
    return column;
  }
}
