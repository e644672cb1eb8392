// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker.collective;

import io.gpupool.worker.os.Memory;
import io.gpupool.worker.os.Posix;
import io.gpupool.worker.os.TcpWatch;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.ref.Reference;
import java.util.ArrayList;
import java.util.List;

/**
 * The waits of one thread until one of some sockets can be read or written, or its peer is silent.
 */
final class SocketWait {
  private static final int POLLFD_BYTES = 8;
  private static final int EVENTS = 4;
  private static final int TIMEOUT_MILLIS = 1000;

  private final List<ConnectedSocket> sockets = new ArrayList<>();
  private MemorySegment pollFds = pollFds(1);

  private static MemorySegment pollFds(int count) {
    return Arena.ofAuto().allocate((long) count * POLLFD_BYTES, Long.BYTES);
  }

  /**
   * Adds a socket to those of the next wait; forgets all of them if it is broken.
   *
   * @param events as {@code poll} has them
   */
  void add(ConnectedSocket socket, int events) throws ChannelException {
    int fd;
    try {
      fd = socket.enter();
    } catch (ChannelException e) {
      clear();
      throw e;
    }
    sockets.add(socket);
    if (sockets.size() * (long) POLLFD_BYTES > pollFds.byteSize()) {
      MemorySegment more = pollFds(2 * sockets.size());
      more.copyFrom(pollFds);
      pollFds = more;
    }
    long address = address(sockets.size() - 1);
    Memory.putInt(address, fd);
    Memory.putShort(address + EVENTS, (short) events);
  }

  private long address(int index) {
    return pollFds.address() + (long) index * POLLFD_BYTES;
  }

  /** Waits at least until something can be moved, or has failed. */
  void await() throws ChannelException {
    try {
      while (Posix.poll(pollFds.address(), sockets.size(), TIMEOUT_MILLIS) == 0) {
        checkAll();
      }
    } finally {
      clear();
      // The kernel writes into it until then.
      Reference.reachabilityFence(pollFds);
    }
  }

  private void checkAll() throws ChannelException {
    for (int i = 0; i < sockets.size(); i++) {
      ConnectedSocket socket = sockets.get(i);
      socket.check();
      if (TcpWatch.isSilent(Memory.getInt(address(i)))) {
        throw socket.lost(true, 0);
      }
    }
  }

  /** Forgets the sockets that were added. */
  private void clear() {
    sockets.forEach(ConnectedSocket::leave);
    sockets.clear();
  }
}
