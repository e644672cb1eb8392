// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker.collective;

import io.gpupool.worker.os.Memory;
import io.gpupool.worker.os.Posix;
import io.gpupool.worker.os.TcpWatch;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.ref.Reference;

/** The wait of one thread until a socket can be read or written, or its peer is silent. */
final class SocketWait {
  private static final int POLLFD_BYTES = 8;
  private static final int EVENTS = 4;
  private static final int TIMEOUT_MILLIS = 1000;

  private final ConnectedSocket socket;
  private final short events;
  private final MemorySegment pollFd = Arena.ofAuto().allocate(POLLFD_BYTES, Long.BYTES);

  SocketWait(ConnectedSocket socket, int events) {
    this.socket = socket;
    this.events = (short) events;
  }

  /** Waits at least until something can be moved, or has failed. */
  void await(int fd) throws ChannelException {
    long address = pollFd.address();
    Memory.putInt(address, fd);
    Memory.putShort(address + EVENTS, events);
    try {
      while (Posix.poll(address, 1, TIMEOUT_MILLIS) == 0) {
        socket.check();
        if (TcpWatch.isSilent(fd)) {
          throw socket.lost(true, 0);
        }
      }
    } finally {
      // The kernel writes into it until then.
      Reference.reachabilityFence(pollFd);
    }
  }
}
