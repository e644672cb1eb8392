// SPDX-License-Identifier: Apache-2.0
package io.gpupool.soft.ptx;

/** PTX text that cannot be accepted; the message has the form that ptxas gives its own. */
public final class PtxException extends Exception {
  private final int line;
  private final int column;
  private final boolean unsupportedVersion;

  public PtxException(int line, int column, String problem) {
    this(line, column, problem, false);
  }

  private PtxException(int line, int column, String problem, boolean unsupportedVersion) {
    super(
        "ptxas application ptx input, line "
            + line
            + ", column "
            + column
            + "; error   : "
            + problem);
    this.line = line;
    this.column = column;
    this.unsupportedVersion = unsupportedVersion;
  }

  private PtxException(PtxException cause, String place) {
    super(cause.getMessage() + place, cause);
    line = cause.line;
    column = cause.column;
    unsupportedVersion = cause.unsupportedVersion;
  }

  private PtxException(String problem) {
    super("nvlink error   : " + problem);
    line = 0;
    column = 0;
    unsupportedVersion = false;
  }

  /** Units that do not fit together; belongs to no line, and so has line and column 0. */
  public static PtxException linking(String problem) {
    return new PtxException(problem);
  }

  public static PtxException unsupportedVersion(int line, int column, String problem) {
    return new PtxException(line, column, problem, true);
  }

  /** The same problem, with the function named that has the line. */
  public PtxException inFunction(String name) {
    return new PtxException(this, " (in function '" + name + "')");
  }

  /** Line of the offending token, from 1. */
  public int line() {
    return line;
  }

  /** Column of the offending token, from 1. */
  public int column() {
    return column;
  }

  /** Whether the text is newer than this parser (CUDA_ERROR_UNSUPPORTED_PTX_VERSION). */
  public boolean isUnsupportedVersion() {
    return unsupportedVersion;
  }
}
