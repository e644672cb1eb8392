// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker.peer;

/** The kinds and places of the frames between two workers; see docs/design/several-servers.md. */
final class PeerFrames {
  static final int TICKET = 1;
  static final int PULL = 2;
  static final int PIECE = 3;
  static final int END = 4;

  // Control frames of connections that can be resumed; they count for no position.

  static final int CHALLENGE = 5;
  static final int RESUME = 6;
  static final int RESUMED = 7;
  static final int ACKNOWLEDGE = 8;
  static final int GOODBYE = 9;

  static final int KIND_OFFSET = 4;
  static final int VALUE_OFFSET = 8;
  static final int TICKET_OFFSET = 16;

  /** Of every frame. */
  static final int HEADER_BYTES = 24;

  /** Of PULL: the length; of PIECE: the offset. */
  static final int LONG_BYTES = 8;

  static final int MAX_PIECE_BYTES = 1 << 20;

  private PeerFrames() {}

  static int padded(int lengthBytes) {
    return (lengthBytes + 7) & ~7;
  }
}
