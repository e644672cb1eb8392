// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker.collective;

import io.gpupool.worker.os.Posix;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import org.jspecify.annotations.Nullable;

/** The receiving direction of a connection to another process. */
public final class SocketInlet implements Inlet {
  private final ConnectedSocket socket;
  private final SocketWait wait;

  /** What {@link #next} returns. */
  private @Nullable MemorySegment scratch;

  public SocketInlet(ConnectedSocket socket) {
    this.socket = socket;
    wait = new SocketWait(socket, Posix.POLLIN);
  }

  @Override
  public long next(long lengthBytes) throws ChannelException {
    Segments.check(lengthBytes);
    MemorySegment block = scratch;
    if (block == null) {
      block = Arena.ofAuto().allocate(Segments.BYTES, Long.BYTES);
      scratch = block;
    }
    receive(block.address(), lengthBytes);
    return block.address();
  }

  @Override
  public void release() {}

  @Override
  public void receive(long target, long lengthBytes) throws ChannelException {
    int fd = socket.enter();
    try {
      long received = 0;
      while (received < lengthBytes) {
        received += receiveSome(fd, target + received, lengthBytes - received);
      }
    } finally {
      socket.leave();
    }
  }

  private long receiveSome(int fd, long target, long lengthBytes) throws ChannelException {
    while (true) {
      long count = Posix.recv(fd, target, lengthBytes, Posix.MSG_DONTWAIT);
      if (count > 0) {
        return count;
      }
      if (count != -Posix.EAGAIN) {
        throw socket.lost(false, count);
      }
      wait.await(fd);
    }
  }

  @Override
  public void close() {
    socket.close();
  }
}
