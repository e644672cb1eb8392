// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker.collective;

/**
 * Small collectives in few hops, along binomial trees from or to a root. A rank's reduction begins
 * with itself, and takes the subtrees in the order of their sizes: to rank 0 of 4, it is (0 + 1) +
 * (2 + 3). Two ranks reduce for both by sending each other their inputs.
 */
final class Tree {
  private final Links links;
  private final Scratch scratch;
  private final RankGpu gpu;

  Tree(Links links, Scratch scratch, RankGpu gpu) {
    this.links = links;
    this.scratch = scratch;
    this.gpu = gpu;
  }

  void allReduce(CollectiveCall call, Contribution own) throws ChannelException {
    if (links.ranks == 2) {
      exchange(call, own);
      return;
    }
    reduceTo(0, call, own);
    distribute(0, call.receive(), call);
  }

  void reduce(CollectiveCall call, Contribution own) throws ChannelException {
    reduceTo(call.peer(), call, own);
  }

  void broadcast(CollectiveCall call) throws ChannelException {
    boolean isRoot = links.rank == call.peer();
    distribute(call.peer(), isRoot ? call.send() : call.receive(), call);
  }

  private void exchange(CollectiveCall call, Contribution own) throws ChannelException {
    int other = 1 - links.rank;
    long mine = scratch.address();
    own.put(mine, call.send(), call.count());
    links.to(other).send(mine, call.bytes());
    Inlet inlet = links.from(other);
    long others = inlet.next(call.bytes());
    boolean first = links.rank == 0;
    own.combine(call.receive(), first ? mine : others, first ? others : mine, call.count());
    inlet.release();
    own.finish(call.receive(), call.count());
  }

  /** Has the root put the result into its receive buffer. */
  private void reduceTo(int root, CollectiveCall call, Contribution own) throws ChannelException {
    int position = Math.floorMod(links.rank - root, links.ranks);
    long reduced = scratch.address();
    own.put(reduced, call.send(), call.count());
    for (int distance = 1; distance < links.ranks; distance <<= 1) {
      if ((position & distance) != 0) {
        links.to(links.neighbour(-distance)).send(reduced, call.bytes());
        return;
      }
      if (position + distance < links.ranks) {
        Inlet inlet = links.from(links.neighbour(distance));
        own.combine(reduced, reduced, inlet.next(call.bytes()), call.count());
        inlet.release();
      }
    }
    own.finish(reduced, call.count());
    gpu.copy(reduced, call.receive(), call.bytes());
  }

  /** Has every rank get what the root has in its buffer. */
  private void distribute(int root, long buffer, CollectiveCall call) throws ChannelException {
    int position = Math.floorMod(links.rank - root, links.ranks);
    int distance = 1;
    while (distance < links.ranks && (position & distance) == 0) {
      distance <<= 1;
    }
    if (position != 0) {
      links.from(links.neighbour(-distance)).receive(buffer, call.bytes());
    }
    for (distance >>= 1; distance > 0; distance >>= 1) {
      if (position + distance < links.ranks) {
        links.to(links.neighbour(distance)).send(buffer, call.bytes());
      }
    }
  }
}
