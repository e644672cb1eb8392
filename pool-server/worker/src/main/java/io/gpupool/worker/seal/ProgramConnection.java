// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker.seal;

import io.gpupool.worker.os.Memory;
import io.gpupool.worker.os.Posix;
import io.gpupool.worker.rings.SharedStream;
import java.io.IOException;
import org.jspecify.annotations.Nullable;

/**
 * A connection with the program: a socket, and what opens and seals its bytes unless they are
 * clear. One thread at a time receives, and one sends.
 */
public final class ProgramConnection {
  private static final String DAMAGED =
      "the program left its place in the memory of its call stream";
  private static final String ALTERED = "a record of its call stream was altered";

  private final int fd;
  private final @Nullable RecordOpener opener;
  private final @Nullable RecordSealer sealer;
  private final @Nullable SharedStream shared;

  private ProgramConnection(
      int fd,
      @Nullable RecordOpener opener,
      @Nullable RecordSealer sealer,
      @Nullable SharedStream shared) {
    this.fd = fd;
    this.opener = opener;
    this.sealer = sealer;
    this.shared = shared;
  }

  /** Takes a blocking stream socket. */
  public static ProgramConnection clear(int fd) {
    return new ProgramConnection(fd, null, null, null);
  }

  /** The same, sealed with a secret of 32 bytes that no other connection has. */
  public static ProgramConnection sealed(int fd, byte[] secret) {
    if (secret.length != RecordKeys.SECRET_BYTES) {
      throw new IllegalArgumentException("a secret of " + secret.length + " bytes");
    }
    return new ProgramConnection(
        fd,
        new RecordOpener(RecordKeys.opening(secret, RecordKeys.End.PROGRAM)),
        new RecordSealer(RecordKeys.sealing(secret, RecordKeys.End.WORKER)),
        null);
  }

  /** Takes a unix socket, and shares memory with the program at its other end. */
  public static ProgramConnection sharing(int fd) throws IOException {
    return new ProgramConnection(fd, null, null, SharedStream.open(fd));
  }

  public int fd() {
    return fd;
  }

  /** Returns how much room a receipt needs; with less it may find nothing. */
  public int leastRoomBytes() {
    return opener == null ? 1 : Records.MAX_BYTES;
  }

  /** As {@code recv}; a negative result is an error, EBADMSG if a record was altered. */
  public long receive(long address, long roomBytes, int flags) {
    if (shared != null) {
      return shared.receive(address, roomBytes, flags);
    }
    return opener == null
        ? Posix.recv(fd, address, roomBytes, flags)
        : opener.receive(fd, address, roomBytes, flags);
  }

  /**
   * Waits until there is something to receive, or the connection has ended.
   *
   * @param pollFd memory of 8 bytes
   */
  public boolean awaitReadable(long pollFd, int millis) {
    if (shared != null) {
      return shared.awaitReadable(millis);
    }
    Memory.putInt(pollFd, fd);
    Memory.putInt(pollFd + 4, Posix.POLLIN);
    return Posix.poll(pollFd, 1, millis) > 0;
  }

  /** Returns why the session ends after such an error of a receipt, or null. */
  public static @Nullable String violation(long error) {
    return error == -Posix.EBADMSG ? ALTERED : error == -Posix.EPROTO ? DAMAGED : null;
  }

  /** Gives back memory that is shared; the socket stays as it is. Nobody may use it any more. */
  public void release() {
    if (shared != null) {
      shared.release();
    }
  }

  /** Closes a connection that nobody has used, or uses any more. */
  public void close() {
    release();
    Posix.close(fd);
  }

  /** Sends all; returns 0, or a negative error. */
  public int sendAll(long address, long lengthBytes, boolean moreFollows) {
    if (shared != null) {
      return shared.sendAll(address, lengthBytes, moreFollows);
    }
    return sealer == null
        ? Posix.sendAll(fd, address, lengthBytes, moreFollows)
        : sealer.sendAll(fd, address, lengthBytes, moreFollows);
  }
}
