// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker.connection;

import io.gpupool.worker.os.Posix;

/** The connection of a session whose program has yet to come. */
public final class AbsentConnection extends ProgramConnection {
  /** Has no socket. */
  public AbsentConnection() {
    super(-1);
  }

  @Override
  public long receive(long address, long roomBytes, int flags) {
    return -Posix.ECONNRESET;
  }

  @Override
  public int sendAll(long address, long lengthBytes, boolean moreFollows) {
    return -Posix.ECONNRESET;
  }
}
