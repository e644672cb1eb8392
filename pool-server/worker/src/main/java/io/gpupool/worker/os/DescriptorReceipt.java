// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker.os;

import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;

/**
 * A receipt of some bytes on a unix socket, and of the descriptor that may come with them. One
 * thread at a time uses it.
 */
public final class DescriptorReceipt {
  private static final int MSG_CMSG_CLOEXEC = 0x40000000;
  private static final int CONTROL_BYTES = 64;
  private static final long CONTROL_LENGTH = 40;

  static final int SOL_SOCKET = 1;
  static final int SCM_RIGHTS = 1;
  static final int CONTROL_HEADER_BYTES = 16;

  private final Arena arena = Arena.ofAuto();
  private final MemorySegment message = arena.allocate(56, 8);
  private final MemorySegment vector = arena.allocate(16, 8);
  private final MemorySegment control = arena.allocate(CONTROL_BYTES, 8);
  private final MemorySegment bytes;

  /** Prepares for receipts of up to so many bytes, whose contents do not matter. */
  public DescriptorReceipt(int lengthBytes) {
    bytes = arena.allocate(lengthBytes);
    vector.set(JAVA_LONG, 0, bytes.address());
    vector.set(JAVA_LONG, 8, bytes.byteSize());
  }

  /** As {@code recv}: returns how many bytes came, 0 at the end of the stream, or an error. */
  public long receive(int socket, int flags) {
    message.fill((byte) 0);
    message.set(JAVA_LONG, 16, vector.address());
    message.set(JAVA_LONG, 24, 1L);
    message.set(JAVA_LONG, 32, control.address());
    message.set(JAVA_LONG, CONTROL_LENGTH, (long) CONTROL_BYTES);
    return Posix.recvmsg(socket, message.address(), MSG_CMSG_CLOEXEC | flags);
  }

  /**
   * Returns the descriptor that came with the bytes of the last receipt, which is the caller's to
   * close; -1 if there was none. If there were several, all are closed.
   */
  public int takeDescriptor() {
    long length = message.get(JAVA_LONG, CONTROL_LENGTH);
    message.set(JAVA_LONG, CONTROL_LENGTH, 0L);
    boolean carries =
        length >= CONTROL_HEADER_BYTES + Integer.BYTES
            && control.get(JAVA_INT, 8) == SOL_SOCKET
            && control.get(JAVA_INT, 12) == SCM_RIGHTS;
    if (!carries) {
      return -1;
    }
    long end = Math.min(length, control.get(JAVA_LONG, 0));
    if (end == CONTROL_HEADER_BYTES + Integer.BYTES) {
      return control.get(JAVA_INT, CONTROL_HEADER_BYTES);
    }
    for (long at = CONTROL_HEADER_BYTES; at + Integer.BYTES <= end; at += Integer.BYTES) {
      Posix.close(control.get(JAVA_INT, at));
    }
    return -1;
  }
}
