// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker.collective;

import io.gpupool.worker.os.Posix;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Map;
import java.util.Set;

/** The channels between ranks over socket pairs, one a pair of ranks, made on demand. */
final class SocketChannels {
  private record Direction(int rank, int other) {}

  private record End(SocketOutlet outlet, SocketInlet inlet) {}

  private final Map<Direction, End> ends = new HashMap<>();
  private final Set<Integer> closed = new HashSet<>();

  Channels of(int rank) {
    return new Channels() {
      @Override
      public Outlet to(int other) {
        return end(rank, other).outlet;
      }

      @Override
      public Inlet from(int other) {
        return end(rank, other).inlet;
      }

      @Override
      public void close() {
        closeAll(rank);
      }
    };
  }

  private synchronized End end(int rank, int other) {
    Direction direction = new Direction(rank, other);
    if (!ends.containsKey(direction)) {
      int[] pair = Posix.socketPair();
      ends.put(direction, open(pair[0]));
      ends.put(new Direction(other, rank), open(pair[1]));
    }
    End end = ends.get(direction);
    if (closed.contains(rank) || closed.contains(other)) {
      end.outlet.close();
    }
    return end;
  }

  private static End open(int fd) {
    ConnectedSocket socket = new ConnectedSocket(fd);
    return new End(new SocketOutlet(socket), new SocketInlet(socket));
  }

  private synchronized void closeAll(int rank) {
    closed.add(rank);
    ends.forEach((direction, end) -> {
      if (direction.rank == rank) {
        end.outlet.close();
      }
    });
  }
}
