// SPDX-License-Identifier: Apache-2.0
package io.gpupool.e2e;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;

/**
 * The place that a relay has reached in one direction of a call stream: in the handshake, between
 * frames or within one.
 */
final class FrameTrack {
  private static final int HELLO_BYTES = 64;
  private static final int FLAGS = 12;
  private static final int PEER = 1;
  private static final int TEXT_BYTES = 6;
  private static final int REPLY_BYTES = 8;
  private static final int LENGTH_BYTES = 4;

  private final boolean requests;
  private final byte[] head = new byte[HELLO_BYTES];
  private int headBytes;
  private long left;
  private boolean opened;
  private boolean ofPeers;

  /** Begins with the handshake: the client's part of it, or the server's answer. */
  FrameTrack(boolean requests) {
    this.requests = requests;
  }

  /** Passes over bytes of the stream. */
  void pass(byte[] bytes, int from, int count) {
    int at = from;
    int end = from + count;
    while (at < end) {
      if (left > 0) {
        int part = (int) Math.min(left, end - at);
        left -= part;
        at += part;
      } else {
        head[headBytes++] = bytes[at++];
        if (headBytes == headLength()) {
          begin();
        }
      }
    }
  }

  private int headLength() {
    return opened ? LENGTH_BYTES : requests ? HELLO_BYTES : REPLY_BYTES;
  }

  private void begin() {
    ByteBuffer read = ByteBuffer.wrap(head).order(ByteOrder.LITTLE_ENDIAN);
    if (opened) {
      left = Integer.toUnsignedLong(read.getInt(0)) - LENGTH_BYTES;
    } else if (requests) {
      ofPeers = read.getShort(FLAGS) == PEER;
    } else {
      left = read.getShort(TEXT_BYTES);
    }
    opened = true;
    headBytes = 0;
  }

  /** Returns whether a frame has come in part. */
  boolean isWithinFrame() {
    return opened && (left > 0 || headBytes > 0);
  }

  /** Returns whether this is a connection between two workers. */
  boolean isOfPeers() {
    return ofPeers;
  }
}
