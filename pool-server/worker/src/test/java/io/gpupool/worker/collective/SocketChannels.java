// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker.collective;

import io.gpupool.worker.os.Posix;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Map;
import java.util.Set;

/**
 * The channels between ranks of several processes: over socket pairs, one a pair of ranks, made on
 * demand, and within a process without sockets.
 */
final class SocketChannels {
  private record Direction(int rank, int other) {}

  private record End(SocketOutlet outlet, SocketInlet inlet) {}

  private final int ranksAProcess;
  private final LocalChannels local;

  /** Those that no rank has an end of yet are there, too. */
  private final Map<Direction, Integer> sockets = new HashMap<>();

  private final Map<Direction, End> ends = new HashMap<>();
  private final Set<Integer> closed = new HashSet<>();

  SocketChannels(int ranks, int ranksAProcess) {
    this.ranksAProcess = ranksAProcess;
    local = new LocalChannels(ranks);
  }

  Channels of(int rank) {
    PendingSends pending = new PendingSends();
    Channels beside = local.of(rank, Runnable::run);
    return new Channels() {
      @Override
      public Outlet to(int other) throws ChannelException {
        return isLocal(rank, other) ? beside.to(other) : end(rank, other, pending).outlet;
      }

      @Override
      public Inlet from(int other) throws ChannelException {
        return isLocal(rank, other) ? beside.from(other) : end(rank, other, pending).inlet;
      }

      @Override
      public PendingSends pending() {
        return pending;
      }

      @Override
      public void close() {
        beside.close();
        closeAll(rank);
      }
    };
  }

  private boolean isLocal(int rank, int other) {
    return rank / ranksAProcess == other / ranksAProcess;
  }

  private synchronized End end(int rank, int other, PendingSends pending) {
    Direction direction = new Direction(rank, other);
    if (!sockets.containsKey(direction)) {
      int[] pair = Posix.socketPair();
      sockets.put(direction, pair[0]);
      sockets.put(new Direction(other, rank), pair[1]);
    }
    End end = ends.computeIfAbsent(direction, _ -> open(sockets.get(direction), pending));
    if (closed.contains(rank) || closed.contains(other)) {
      end.outlet.close();
    }
    return end;
  }

  private static End open(int fd, PendingSends pending) {
    ConnectedSocket socket = new ConnectedSocket(fd);
    return new End(new SocketOutlet(socket, pending), new SocketInlet(socket, pending));
  }

  private synchronized void closeAll(int rank) {
    closed.add(rank);
    ends.forEach((direction, end) -> {
      if (direction.rank == rank) {
        end.outlet.close();
      }
    });
    sockets.forEach((direction, fd) -> {
      if (direction.rank == rank && !ends.containsKey(direction)) {
        Posix.shutdown(fd);
      }
    });
  }
}
