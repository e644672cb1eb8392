// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker.peer;

/** A frame to another worker: its head, and behind it the bytes of a piece. */
final class PeerFrame {
  /** What lies before the payload, as it is sent. */
  final long[] head;

  final long payload;
  final int payloadBytes;

  /** The position behind it; 0 of a control frame, which counts for none. */
  long end;

  private PeerFrame(long[] head, long payload, int payloadBytes) {
    this.head = head;
    this.payload = payload;
    this.payloadBytes = payloadBytes;
  }

  /** Makes a short one. */
  static PeerFrame of(int kind, int value, long ticket, long... more) {
    long[] head = new long[3 + more.length];
    head[0] = 8L * head.length | (long) kind << 32;
    head[1] = Integer.toUnsignedLong(value);
    head[2] = ticket;
    System.arraycopy(more, 0, head, 3, more.length);
    return new PeerFrame(head, 0, 0);
  }

  /** Makes a piece of a copy, whose bytes stay where they are until it is gone. */
  static PeerFrame piece(long ticket, long offset, long payload, int payloadBytes) {
    long length = PeerFrames.HEADER_BYTES + PeerFrames.LONG_BYTES + PeerFrames.padded(payloadBytes);
    long[] head = {length | (long) PeerFrames.PIECE << 32, payloadBytes, ticket, offset};
    return new PeerFrame(head, payload, payloadBytes);
  }

  int headBytes() {
    return head.length * Long.BYTES;
  }

  /** All of it, with the padding behind the payload. */
  int lengthBytes() {
    return headBytes() + PeerFrames.padded(payloadBytes);
  }

  boolean isShort() {
    return payloadBytes == 0;
  }
}
