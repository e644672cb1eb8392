// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker.peer;

/** The frames between two workers; see docs/design/several-servers.md. */
final class PeerFrames {
  static final int TICKET = 1;
  static final int PULL = 2;
  static final int PIECE = 3;
  static final int END = 4;

  static final int KIND_OFFSET = 4;
  static final int VALUE_OFFSET = 8;
  static final int TICKET_OFFSET = 16;

  /** Of every frame. */
  static final int HEADER_BYTES = 24;

  /** Of PULL: the length; of PIECE: the offset. */
  static final int LONG_BYTES = 8;

  private PeerFrames() {}

  static int padded(int lengthBytes) {
    return (lengthBytes + 7) & ~7;
  }
}
