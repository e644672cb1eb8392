// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker.session.core;

/** Layout of the call stream's frames (docs/design/call-stream.md). */
public final class Frames {
  public static final int MAX_FRAME_BYTES = (1 << 20) + 4096;

  /** The most bytes of a copy that one frame carries. */
  public static final int MAX_DATA_BYTES = 1 << 20;

  public static final int REQUEST_HEADER_BYTES = 8;
  public static final int OP_OFFSET = 4;
  public static final int CONTEXT_OFFSET = 6;

  static final int ANSWER_HEADER_BYTES = 16;
  static final int KIND_OFFSET = 4;
  static final int TAG_OFFSET = 8;
  static final int RESULT_OFFSET = 12;

  static final int WELCOME = 0;
  public static final int REPLY = 1;
  public static final int DATA = 2;
  public static final int CALLBACK = 3;
  public static final int FATAL = 5;
  static final int OUTPUT = 6;

  private Frames() {}

  public static int padded(int lengthBytes) {
    return (lengthBytes + 7) & -8;
  }
}
