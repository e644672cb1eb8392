// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker.collective;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.gpupool.cuda.CollectiveKind;
import io.gpupool.cuda.ReduceOperation;
import io.gpupool.worker.os.Memory;
import java.lang.foreign.Arena;
import java.util.List;
import java.util.concurrent.Executor;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(60)
class RankGpuTest {
  /** A GPU that counts its work, and knows whether it does any now. */
  private static final class CountedGpu implements Executor {
    private volatile int works;
    private volatile boolean isBusy;

    @Override
    public void execute(Runnable work) {
      isBusy = true;
      work.run();
      works++;
      isBusy = false;
    }
  }

  private final Arena arena = Arena.ofShared();
  private final ExecutorService threads = Executors.newCachedThreadPool();

  @AfterEach
  void free() throws InterruptedException {
    threads.shutdownNow();
    assertThat(threads.awaitTermination(10, TimeUnit.SECONDS)).isTrue();
    arena.close();
  }

  private CollectiveCall call(int kind, int count) {
    long buffer = arena.allocate(2L * count * Float.BYTES).address();
    return new CollectiveCall(
        kind, ElementType.FLOAT32, ReduceOperation.SUM, 0, buffer, buffer, count, Scalar.NONE);
  }

  private Future<?> start(Rank rank, CollectiveCall call) {
    return threads.submit(() -> {
      rank.run(List.of(call));
      return true;
    });
  }

  @Test
  void gpu_whileItsRankWaitsForAnother_isFree() throws Exception {
    LocalChannels channels = new LocalChannels(2);
    CountedGpu[] gpus = {new CountedGpu(), new CountedGpu()};
    Rank[] ranks = new Rank[2];
    for (int i = 0; i < 2; i++) {
      ranks[i] = new Rank(i, 2, channels.of(i, gpus[i]), gpus[i]);
    }
    Future<?> first = start(ranks[0], call(CollectiveKind.ALL_REDUCE, 8));
    await().until(() -> gpus[0].works > 0);
    Thread.sleep(50);
    assertThat(first.isDone()).isFalse();
    assertThat(gpus[0].isBusy).isFalse();
    int before = gpus[0].works;
    start(ranks[1], call(CollectiveKind.ALL_REDUCE, 8)).get();
    first.get();
    assertThat(gpus[0].works).isGreaterThan(before);
  }

  @Test
  void copies_withinAProcess_areWorkOfTheGpuThatReceives() throws Exception {
    LocalChannels channels = new LocalChannels(2);
    CountedGpu[] gpus = {new CountedGpu(), new CountedGpu()};
    Future<?>[] running = new Future<?>[2];
    for (int i = 0; i < 2; i++) {
      Rank rank = new Rank(i, 2, channels.of(i, gpus[i]), gpus[i]);
      running[i] = start(rank, call(CollectiveKind.BROADCAST, 100_000));
    }
    running[0].get();
    running[1].get();
    assertThat(gpus[0].works).isZero();
    assertThat(gpus[1].works).isPositive();
  }

  @Test
  void copy_ofManyBytes_isSeveralPiecesOfWork() {
    CountedGpu gpu = new CountedGpu();
    long lengthBytes = (9 << 20) + 1;
    long source = arena.allocate(lengthBytes).address();
    long target = arena.allocate(lengthBytes).address();
    Memory.putByte(source + lengthBytes - 1, 7);
    new RankGpu(gpu).copy(source, target, lengthBytes);
    assertThat(Memory.getByte(target + lengthBytes - 1)).isEqualTo((byte) 7);
    assertThat(gpu.works).isEqualTo(3);
  }
}
