// SPDX-License-Identifier: Apache-2.0
package io.gpupool.soft.device;

import static org.assertj.core.api.Assertions.assertThat;

import io.gpupool.soft.device.context.SoftContext;
import io.gpupool.soft.device.context.SoftEvent;
import io.gpupool.soft.device.context.SoftStream;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/**
 * Several threads use streams of their own, wait for each other's events, and end operations on
 * other threads; what must come before something always does.
 */
final class StreamStressTest {
  private static final int THREADS = 4;
  private static final int OPERATIONS = 4000;

  private final SoftGpu gpu = TestGpu.create();
  private final SoftContext context = new SoftContext(gpu.device(0), 0);
  private final ExecutorService enders = Executors.newFixedThreadPool(2);
  private final ConcurrentLinkedQueue<String> violations = new ConcurrentLinkedQueue<>();

  /** How many operations of each stream have ended. */
  private final AtomicInteger[] ended = new AtomicInteger[THREADS];

  @AfterEach
  void close() {
    enders.shutdownNow();
    gpu.close();
  }

  @Test
  void streams_manyThreadsAndEvents_keepEveryOrder() throws InterruptedException {
    List<SoftStream> streams = new ArrayList<>();
    List<List<Mark>> marks = new ArrayList<>();
    for (int index = 0; index < THREADS; index++) {
      streams.add(context.createStream(index % 2 == 0 ? 0 : SoftStream.NON_BLOCKING, 0));
      marks.add(new ArrayList<>());
      ended[index] = new AtomicInteger();
    }
    List<Thread> threads = new ArrayList<>();
    for (int index = 0; index < THREADS; index++) {
      int mine = index;
      threads.add(Thread.ofPlatform().start(() -> submit(mine, streams, marks)));
    }
    for (Thread thread : threads) {
      thread.join();
    }
    context.completion().await();

    assertThat(violations).isEmpty();
    for (AtomicInteger count : ended) {
      assertThat(count).hasValue(OPERATIONS);
    }
  }

  private void submit(int mine, List<SoftStream> streams, List<List<Mark>> marks) {
    Random random = new Random(mine);
    SoftStream stream = streams.get(mine);
    int[] required = new int[THREADS];
    for (int number = 0; number < OPERATIONS; number++) {
      if (random.nextInt(8) == 0) {
        SoftEvent event = context.createEvent(0);
        stream.record(event);
        List<Mark> list = marks.get(mine);
        synchronized (list) {
          list.add(new Mark(event, number));
        }
      }
      int other = random.nextInt(THREADS);
      if (random.nextInt(8) == 0) {
        List<Mark> list = marks.get(other);
        Mark mark;
        synchronized (list) {
          mark = list.isEmpty() ? null : list.getLast();
        }
        if (mark != null) {
          stream.waitFor(mark.event);
          required[other] = Math.max(required[other], mark.operationsBefore);
        }
      }
      operation(stream, mine, number, required.clone(), random.nextInt(4) == 0);
    }
  }

  private void operation(
      SoftStream stream, int mine, int number, int[] required, boolean elsewhere) {
    stream.callHost(
        (status, done) -> {
          if (ended[mine].get() != number) {
            violations.add("operation " + number + " of " + mine + " out of order");
          }
          for (int other = 0; other < THREADS; other++) {
            if (ended[other].get() < required[other]) {
              violations.add("operation " + number + " of " + mine + " before " + other);
            }
          }
          Runnable end =
              () -> {
                ended[mine].incrementAndGet();
                done.run();
              };
          if (elsewhere) {
            enders.execute(end);
          } else {
            end.run();
          }
        },
        false);
  }

  /** An event, and how many operations of its stream come before it. */
  private record Mark(SoftEvent event, int operationsBefore) {}
}
