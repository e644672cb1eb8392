// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker.seal;

import io.gpupool.worker.connection.ProgramConnection;

/** A connection with the program whose bytes travel in sealed records. */
public final class SealedConnection extends ProgramConnection {
  private final RecordOpener opener;
  private final RecordSealer sealer;

  /**
   * Takes a blocking stream socket.
   *
   * @param secret 32 bytes that no other connection has
   */
  public SealedConnection(int fd, byte[] secret) {
    super(fd);
    if (secret.length != RecordKeys.SECRET_BYTES) {
      throw new IllegalArgumentException("a secret of " + secret.length + " bytes");
    }
    opener = new RecordOpener(RecordKeys.opening(secret, RecordKeys.End.PROGRAM));
    sealer = new RecordSealer(RecordKeys.sealing(secret, RecordKeys.End.WORKER));
  }

  @Override
  public int leastRoomBytes() {
    return Records.MAX_BYTES;
  }

  @Override
  public long receive(long address, long roomBytes, int flags) {
    return opener.receive(fd(), address, roomBytes, flags);
  }

  @Override
  public int sendAll(long address, long lengthBytes, boolean moreFollows) {
    return sealer.sendAll(fd(), address, lengthBytes, moreFollows);
  }
}
