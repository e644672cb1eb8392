// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker.collective;

import io.gpupool.cuda.CollectiveKind;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Executor;

/**
 * One rank of several that carry out the same collectives, on the thread that calls it. When a call
 * has ended, well or not, nobody reads or writes this rank's memory any more.
 *
 * <p>The order of a reduction depends on the number of ranks, the count, the type and the root
 * alone, and every rank gets the same bits: small ones are reduced as {@link Tree} says, larger
 * ones as {@link Ring} and {@link Chain} say.
 */
public final class Rank {
  private static final int SMALL_BYTES = 16 << 10;

  private final Links links;
  private final RankGpu gpu;
  private final Transfers transfers;
  private final Ring ring;
  private final Chain chain;
  private final Tree tree;
  private final Map<ElementType, Reduction> reductions = new EnumMap<>(ElementType.class);

  /**
   * A rank of a number of ranks.
   *
   * @param gpu does work of the rank's GPU on the thread that calls it; such work waits for nothing
   */
  public Rank(int rank, int ranks, Channels channels, Executor gpu) {
    this.gpu = new RankGpu(gpu);
    links = new Links(rank, ranks, channels);
    Scratch scratch = new Scratch();
    transfers = new Transfers(links, this.gpu);
    ring = new Ring(links, scratch);
    chain = new Chain(links, scratch);
    tree = new Tree(links, scratch, this.gpu);
  }

  /**
   * Carries out the calls of a group: its transfers at the same time, then its collectives, one
   * after the other. If that fails, it ends all channels of this rank.
   */
  public void run(List<CollectiveCall> group) throws ChannelException {
    boolean done = false;
    try {
      transfers.run(group);
      for (CollectiveCall call : group) {
        if (!call.isTransfer()) {
          collective(call);
          links.flush();
        }
      }
      done = true;
    } finally {
      if (!done) {
        links.abandon();
      }
    }
  }

  private void collective(CollectiveCall call) throws ChannelException {
    if (call.count() == 0) {
      return;
    }
    copyOwn(call);
    if (call.reduces()) {
      reduction(call);
    } else if (call.kind() == CollectiveKind.ALL_GATHER) {
      ring.allGather(call);
    } else if (isSmall(call)) {
      tree.broadcast(call);
    } else {
      chain.broadcast(call);
    }
  }

  /** Puts what this rank itself contributes into place, where it is not reduced. */
  private void copyOwn(CollectiveCall call) {
    if (call.kind() == CollectiveKind.ALL_GATHER) {
      copy(call.send(), call.receive() + links.rank * call.bytes(), call.bytes());
    } else if (call.kind() == CollectiveKind.BROADCAST && links.rank == call.peer()) {
      copy(call.send(), call.receive(), call.bytes());
    }
  }

  private void copy(long source, long target, long lengthBytes) {
    if (source != target) {
      gpu.copy(source, target, lengthBytes);
    }
  }

  private void reduction(CollectiveCall call) throws ChannelException {
    Contribution own =
        new Contribution(
            call, reductions.computeIfAbsent(call.type(), Reduction::of), links.ranks, gpu);
    if (links.ranks == 1) {
      putAll(call, own);
      return;
    }
    switch (call.kind()) {
      case CollectiveKind.ALL_REDUCE -> {
        if (isSmall(call)) {
          tree.allReduce(call, own);
        } else {
          ring.allReduce(call, own);
        }
      }
      case CollectiveKind.REDUCE -> {
        if (isSmall(call)) {
          tree.reduce(call, own);
        } else {
          chain.reduce(call, own);
        }
      }
      default -> ring.reduceScatter(call, own);
    }
  }

  private static void putAll(CollectiveCall call, Contribution own) {
    int elementBytes = call.type().bytes();
    long segment = Segments.BYTES / elementBytes;
    for (long done = 0; done < call.count(); done += segment) {
      long offset = done * elementBytes;
      long elements = Math.min(segment, call.count() - done);
      own.put(call.receive() + offset, call.send() + offset, elements);
    }
  }

  private boolean isSmall(CollectiveCall call) {
    return call.bytes() <= SMALL_BYTES || call.count() < links.ranks;
  }
}
