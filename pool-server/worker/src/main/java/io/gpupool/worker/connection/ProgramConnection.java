// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker.connection;

import io.gpupool.worker.os.Memory;
import io.gpupool.worker.os.Posix;
import org.jspecify.annotations.Nullable;

/**
 * A connection with the program, over which bytes of a call stream travel in one of several ways.
 * It has a socket, and ends with it. One thread at a time receives, and one sends.
 */
public abstract class ProgramConnection {
  private static final String DAMAGED =
      "the program left its place in the memory of its call stream";
  private static final String ALTERED = "a record of its call stream was altered";

  private final int fd;

  /** Takes a blocking stream socket. */
  protected ProgramConnection(int fd) {
    this.fd = fd;
  }

  public final int fd() {
    return fd;
  }

  /** Returns how much room a receipt needs; with less it may find nothing. */
  public int leastRoomBytes() {
    return 1;
  }

  /**
   * As {@code recv}; a negative result is an error, EBADMSG if a record was altered, EPROTO if the
   * program has left its place in shared memory.
   */
  public abstract long receive(long address, long roomBytes, int flags);

  /** Sends all; returns 0, or a negative error. */
  public abstract int sendAll(long address, long lengthBytes, boolean moreFollows);

  /**
   * Waits until there is something to receive, or the connection has ended.
   *
   * @param pollFd memory of 8 bytes
   */
  public boolean awaitReadable(long pollFd, int millis) {
    Memory.putInt(pollFd, fd);
    Memory.putInt(pollFd + 4, Posix.POLLIN);
    return Posix.poll(pollFd, 1, millis) > 0;
  }

  /**
   * Returns the descriptor that the program has sent last beside the stream, which is the caller's
   * to close; -1 if there is none. For the thread that receives.
   */
  public int takeDescriptor() {
    return -1;
  }

  /** Returns why the session ends after such an error of a receipt, or null. */
  public static @Nullable String violation(long error) {
    return error == -Posix.EBADMSG ? ALTERED : error == -Posix.EPROTO ? DAMAGED : null;
  }

  /** Gives back memory that is shared; the socket stays as it is. Nobody may use it any more. */
  public void release() {}

  /** Closes a connection that nobody has used, or uses any more. */
  public final void close() {
    release();
    Posix.close(fd);
  }
}
