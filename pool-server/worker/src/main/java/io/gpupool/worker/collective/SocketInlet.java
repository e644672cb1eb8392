// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker.collective;

import io.gpupool.worker.os.Posix;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import org.jspecify.annotations.Nullable;

/** The receiving direction of a connection to another process. */
public final class SocketInlet implements Inlet {
  private final ConnectedSocket socket;
  private final PendingSends pending;

  /** What {@link #next} returns. */
  private @Nullable MemorySegment scratch;

  /** Uses the socket, and sends what else is pending of the rank while it waits. */
  public SocketInlet(ConnectedSocket socket, PendingSends pending) {
    this.socket = socket;
    this.pending = pending;
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
    long received = 0;
    while (received < lengthBytes) {
      long count = receiveSome(target + received, lengthBytes - received);
      received += count;
      if (count == 0) {
        pending.await(socket);
      } else {
        pending.advance();
      }
    }
  }

  /** Receives what is there; 0 if that is nothing. */
  private long receiveSome(long target, long lengthBytes) throws ChannelException {
    int fd = socket.enter();
    try {
      long count = Posix.recv(fd, target, lengthBytes, Posix.MSG_DONTWAIT);
      if (count <= 0 && count != -Posix.EAGAIN) {
        throw socket.lost(false, count);
      }
      return Math.max(count, 0);
    } finally {
      socket.leave();
    }
  }

  @Override
  public boolean sendsPending() {
    return true;
  }

  @Override
  public void close() {
    socket.close();
  }
}
