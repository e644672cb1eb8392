// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker.collective;

import static org.awaitility.Awaitility.await;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.function.IntFunction;

/** Ranks on a thread each. */
final class RankThreads implements AutoCloseable {
  private static final int LIMIT_SECONDS = 30;

  final int ranks;
  private final List<Rank> all = new ArrayList<>();
  private final List<Channels> channels = new ArrayList<>();
  private final ExecutorService threads = Executors.newCachedThreadPool();

  RankThreads(int ranks, IntFunction<Channels> channelsOf) {
    this.ranks = ranks;
    for (int rank = 0; rank < ranks; rank++) {
      channels.add(channelsOf.apply(rank));
      all.add(new Rank(rank, ranks, channels.getLast(), Runnable::run));
    }
  }

  static RankThreads local(int ranks) {
    return new RankThreads(ranks, of(new LocalChannels(ranks)));
  }

  private static IntFunction<Channels> of(LocalChannels channels) {
    return rank -> channels.of(rank, Runnable::run);
  }

  /** Ranks over sockets, but for those that follow each other in a process. */
  static RankThreads overSockets(int ranks, int ranksAProcess) {
    return new RankThreads(ranks, new SocketChannels(ranks, ranksAProcess)::of);
  }

  Channels channels(int rank) {
    return channels.get(rank);
  }

  /** Begins a group of a rank. */
  Future<?> start(int rank, List<CollectiveCall> group) {
    return threads.submit(() -> {
      all.get(rank).run(group);
      return true;
    });
  }

  /** Carries out a group of each rank. */
  void run(IntFunction<List<CollectiveCall>> groups) throws Exception {
    List<Future<?>> running = new ArrayList<>();
    for (int rank = 0; rank < ranks; rank++) {
      running.add(start(rank, groups.apply(rank)));
    }
    for (Future<?> future : running) {
      future.get(LIMIT_SECONDS, TimeUnit.SECONDS);
    }
  }

  /** Returns why a group failed, without anything more happening. */
  static Throwable failure(Future<?> running) throws Exception {
    try {
      running.get(LIMIT_SECONDS, TimeUnit.SECONDS);
      throw new AssertionError("the group did not fail");
    } catch (ExecutionException e) {
      return e.getCause();
    }
  }

  /** Returns when no rank touches memory any more, which the caller may free then. */
  @Override
  public void close() {
    channels.forEach(Channels::close);
    threads.shutdownNow();
    await().atMost(LIMIT_SECONDS, TimeUnit.SECONDS).until(threads::isTerminated);
  }
}
