// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker.seal;

import io.gpupool.worker.os.Posix;
import org.jspecify.annotations.Nullable;

/**
 * A connection with the program: a socket, and what opens and seals its bytes unless they are
 * clear. One thread at a time receives, and one sends.
 */
public final class ProgramConnection {
  /** Why a session ends that received {@code EBADMSG}. */
  public static final String ALTERED = "a record of its call stream was altered";

  private final int fd;
  private final @Nullable RecordOpener opener;
  private final @Nullable RecordSealer sealer;

  private ProgramConnection(int fd, @Nullable RecordOpener opener, @Nullable RecordSealer sealer) {
    this.fd = fd;
    this.opener = opener;
    this.sealer = sealer;
  }

  /** Takes a blocking stream socket. */
  public static ProgramConnection clear(int fd) {
    return new ProgramConnection(fd, null, null);
  }

  /** The same, sealed with a secret of 32 bytes that no other connection has. */
  public static ProgramConnection sealed(int fd, byte[] secret) {
    if (secret.length != RecordKeys.SECRET_BYTES) {
      throw new IllegalArgumentException("a secret of " + secret.length + " bytes");
    }
    return new ProgramConnection(
        fd,
        new RecordOpener(RecordKeys.opening(secret, RecordKeys.End.PROGRAM)),
        new RecordSealer(RecordKeys.sealing(secret, RecordKeys.End.WORKER)));
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
    return opener == null
        ? Posix.recv(fd, address, roomBytes, flags)
        : opener.receive(fd, address, roomBytes, flags);
  }

  /** Sends all; returns 0, or a negative error. */
  public int sendAll(long address, long lengthBytes, boolean moreFollows) {
    return sealer == null
        ? Posix.sendAll(fd, address, lengthBytes, moreFollows)
        : sealer.sendAll(fd, address, lengthBytes, moreFollows);
  }
}
