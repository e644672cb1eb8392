// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker.collective;

/**
 * Collectives in which all ranks have a chunk each, round a ring. Each rank sends to the next one
 * alone. They work on a window of all chunks at a time, so that scratch memory is bounded, and on
 * one segment after the other in it, so that sending and reducing overlap.
 *
 * <p>A chunk's reduction begins at the rank after its own and ends at its own rank: of 4 ranks,
 * chunk 0 is ((1 + 2) + 3) + 0.
 */
final class Ring {
  /** Fewer than half of the scratch slots would hold; more would have ranks wait in a circle. */
  private static final int WINDOW_SEGMENTS = Scratch.SLOTS / 2;

  /** The place of what a rank has reduced of a chunk. */
  private interface Place {
    long of(int chunk, long offset, long elements) throws ChannelException;
  }

  private final Links links;
  private final Scratch scratch;

  Ring(Links links, Scratch scratch) {
    this.links = links;
    this.scratch = scratch;
  }

  void allReduce(CollectiveCall call, Contribution own) throws ChannelException {
    Chunks chunks = new Chunks(call.count(), links.ranks, call.type().bytes());
    Place place = (chunk, offset, elements) -> chunks.address(call.receive(), chunk, offset);
    long gathered = -1;
    for (long start = 0; start < chunks.length(0); start += window(chunks)) {
      for (int step = 0; step < links.ranks; step++) {
        reduceStep(step, chunks, start, call.send(), own, place);
        if (gathered >= 0) {
          gatherStep(step, chunks, gathered, call.receive());
        }
      }
      gathered = start;
    }
    gatherWindow(chunks, gathered, call.receive());
  }

  void reduceScatter(CollectiveCall call, Contribution own) throws ChannelException {
    int bytes = call.type().bytes();
    Chunks chunks = new Chunks(call.count() * links.ranks, links.ranks, bytes);
    Outlet outlet = next();
    Place place =
        (chunk, offset, elements) ->
            chunk == links.rank
                ? call.receive() + offset * bytes
                : scratch.slot(outlet, elements * bytes);
    for (long start = 0; start < call.count(); start += window(chunks)) {
      reduceWindow(chunks, start, call.send(), own, place);
    }
  }

  /** Gathers what each rank has in its own chunk already. */
  void allGather(CollectiveCall call) throws ChannelException {
    int bytes = call.type().bytes();
    Chunks chunks = new Chunks(call.count() * links.ranks, links.ranks, bytes);
    for (long start = 0; start < call.count(); start += window(chunks)) {
      gatherWindow(chunks, start, call.receive());
    }
  }

  private void reduceWindow(Chunks chunks, long start, long send, Contribution own, Place place)
      throws ChannelException {
    for (int step = 0; step < links.ranks; step++) {
      reduceStep(step, chunks, start, send, own, place);
    }
  }

  private void reduceStep(
      int step, Chunks chunks, long start, long send, Contribution own, Place place)
      throws ChannelException {
    int chunk = links.neighbour(-1 - step);
    for (long offset = start; offset < end(chunks, chunk, start); ) {
      long elements = chunks.segment(chunk, offset);
      long input = chunks.address(send, chunk, offset);
      long lengthBytes = elements * chunks.elementBytes();
      if (step == 0 && !own.isMultiplied()) {
        next().send(input, lengthBytes);
      } else {
        long target = place.of(chunk, offset, elements);
        reduceSegment(step, target, input, elements, lengthBytes, own);
      }
      offset += elements;
    }
  }

  private void reduceSegment(
      int step, long target, long input, long elements, long lengthBytes, Contribution own)
      throws ChannelException {
    if (step == 0) {
      own.put(target, input, elements);
    } else {
      Inlet inlet = previous();
      own.add(target, inlet.next(lengthBytes), input, elements);
      inlet.release();
    }
    if (step < links.ranks - 1) {
      next().send(target, lengthBytes);
    } else {
      own.finish(target, elements);
    }
  }

  private void gatherWindow(Chunks chunks, long start, long receive) throws ChannelException {
    for (int step = 0; step < links.ranks; step++) {
      gatherStep(step, chunks, start, receive);
    }
  }

  private void gatherStep(int step, Chunks chunks, long start, long receive)
      throws ChannelException {
    int chunk = links.neighbour(-step);
    for (long offset = start; offset < end(chunks, chunk, start); ) {
      long elements = chunks.segment(chunk, offset);
      long address = chunks.address(receive, chunk, offset);
      long lengthBytes = elements * chunks.elementBytes();
      if (step > 0) {
        previous().receive(address, lengthBytes);
      }
      if (step < links.ranks - 1) {
        next().send(address, lengthBytes);
      }
      offset += elements;
    }
  }

  private static long window(Chunks chunks) {
    return chunks.segmentElements() * WINDOW_SEGMENTS;
  }

  private static long end(Chunks chunks, int chunk, long start) {
    return Math.min(start + window(chunks), chunks.length(chunk));
  }

  private Outlet next() throws ChannelException {
    return links.to(links.neighbour(1));
  }

  private Inlet previous() throws ChannelException {
    return links.from(links.neighbour(-1));
  }
}
