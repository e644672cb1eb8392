// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker.session;

import io.gpupool.cuda.ControlOp;
import io.gpupool.cuda.FrameLimits;
import io.gpupool.cuda.RequestHeader;
import io.gpupool.cuda.ResumeRequest;
import io.gpupool.worker.os.Memory;
import io.gpupool.worker.session.core.AnswerSender;
import org.jspecify.annotations.Nullable;

/** The checks of frames that a program sends. */
final class Frames {
  private Frames() {}

  /** Returns whether a frame can be so long. */
  static boolean isLength(int length) {
    return length >= RequestHeader.BYTES
        && length <= FrameLimits.MAX_FRAME_BYTES
        && (length & 7) == 0;
  }

  /** Returns whether a frame is about the stream itself, and counts for no position. */
  static boolean isControl(long frame) {
    return Memory.getShort(frame + RequestHeader.OP) >= ControlOp.ACKNOWLEDGE;
  }

  /**
   * Returns the end of the last whole frame between two addresses; the latter of them, if there is
   * something that is no frame.
   */
  static long endOfWhole(long from, long to) {
    long at = from;
    while (to - at >= RequestHeader.BYTES) {
      int length = Memory.getInt(at);
      if (!isLength(length)) {
        return to;
      }
      if (to - at < length) {
        return at;
      }
      at += length;
    }
    return at;
  }

  /** Returns how many bytes between two addresses belong to whole control frames. */
  static int controlBytes(long from, long to) {
    int bytes = 0;
    for (long at = from; to - at >= RequestHeader.BYTES && isLength(Memory.getInt(at)); ) {
      int length = Memory.getInt(at);
      bytes += isControl(at) ? length : 0;
      at += length;
    }
    return bytes;
  }

  /**
   * Returns the reason for which a connection cannot go on where another one broke, or null.
   *
   * @param greeting its first frame
   * @param overflows whether there is no room for what came with it
   */
  static @Nullable String rejectionReason(long greeting, boolean overflows, AnswerSender logged) {
    int op = Memory.getShort(greeting + RequestHeader.OP);
    int length = Memory.getInt(greeting);
    long position = Memory.getLong(greeting + ResumeRequest.RECEIVED);
    if (op != ControlOp.RESUME || length != ResumeRequest.BYTES || overflows) {
      return "malformed frame: a later connection began with op "
          + op
          + " of "
          + Integer.toUnsignedString(length)
          + " bytes";
    }
    if (!logged.canResumeAt(position)) {
      return "its connection cannot be resumed at byte "
          + Long.toUnsignedString(position)
          + " of the answers: bytes "
          + logged.log().acknowledged()
          + " to "
          + logged.furthest()
          + " can be sent again";
    }
    return null;
  }
}
