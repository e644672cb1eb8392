// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker.collective;

/**
 * Large broadcasts and reductions, segment by segment along the ring, from or to a root. A
 * reduction begins at the rank after the root: to rank 0 of 4, it is ((1 + 2) + 3) + 0.
 */
final class Chain {
  private final Links links;
  private final Scratch scratch;

  Chain(Links links, Scratch scratch) {
    this.links = links;
    this.scratch = scratch;
  }

  void broadcast(CollectiveCall call) throws ChannelException {
    boolean isRoot = links.rank == call.peer();
    boolean isLast = links.neighbour(1) == call.peer();
    long source = isRoot ? call.send() : call.receive();
    for (long offset = 0; offset < call.bytes(); offset += Segments.BYTES) {
      long lengthBytes = Segments.lengthBytes(call.bytes() - offset);
      if (!isRoot) {
        links.from(links.neighbour(-1)).receive(source + offset, lengthBytes);
      }
      if (!isLast) {
        links.to(links.neighbour(1)).send(source + offset, lengthBytes);
      }
    }
  }

  void reduce(CollectiveCall call, Contribution own) throws ChannelException {
    for (long offset = 0; offset < call.bytes(); offset += Segments.BYTES) {
      long lengthBytes = Segments.lengthBytes(call.bytes() - offset);
      long input = call.send() + offset;
      if (links.rank == call.peer()) {
        long target = call.receive() + offset;
        reduceSegment(target, input, lengthBytes, call, own);
        own.finish(target, lengthBytes / call.type().bytes());
      } else {
        Outlet outlet = links.to(links.neighbour(1));
        long target = scratch.slot(outlet, lengthBytes);
        reduceSegment(target, input, lengthBytes, call, own);
        outlet.send(target, lengthBytes);
      }
    }
  }

  private void reduceSegment(
      long target, long input, long lengthBytes, CollectiveCall call, Contribution own)
      throws ChannelException {
    long elements = lengthBytes / call.type().bytes();
    if (links.neighbour(-1) == call.peer()) {
      own.put(target, input, elements);
    } else {
      Inlet inlet = links.from(links.neighbour(-1));
      own.add(target, inlet.next(lengthBytes), input, elements);
      inlet.release();
    }
  }
}
