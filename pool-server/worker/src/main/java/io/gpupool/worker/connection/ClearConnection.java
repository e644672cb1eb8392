// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker.connection;

import io.gpupool.worker.os.Posix;

/** A connection with the program whose bytes travel as they are. */
public final class ClearConnection extends ProgramConnection {
  /** Takes a blocking stream socket. */
  public ClearConnection(int fd) {
    super(fd);
  }

  @Override
  public long receive(long address, long roomBytes, int flags) {
    return Posix.recv(fd(), address, roomBytes, flags);
  }

  @Override
  public int sendAll(long address, long lengthBytes, boolean moreFollows) {
    return Posix.sendAll(fd(), address, lengthBytes, moreFollows);
  }
}
