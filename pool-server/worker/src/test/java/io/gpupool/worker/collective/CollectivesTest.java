// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker.collective;

import static org.assertj.core.api.Assertions.assertThat;

import io.gpupool.cuda.CollectiveKind;
import io.gpupool.cuda.ReduceOperation;
import io.gpupool.worker.os.Memory;
import java.lang.foreign.Arena;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

@Timeout(60)
class CollectivesTest {
  private static final long[] SMALL = {0, 1, 2, 7, 100, 1000};
  private static final int OPERATIONS = ReduceOperation.PRE_MULTIPLIED_SUM + 1;

  @ParameterizedTest
  @ValueSource(ints = {1, 2, 3, 4, 8})
  void reductions_ofAllTypesAndOperations_areExact(int ranks) throws Exception {
    Random random = new Random(ranks);
    try (RankThreads threads = RankThreads.local(ranks)) {
      for (int kind : reducing()) {
        for (ElementType type : ElementType.values()) {
          for (int operation = 0; operation < OPERATIONS; operation++) {
            long small = SMALL[random.nextInt(SMALL.length)];
            collective(random, kind, type, operation, small, ranks).run(threads);
            long medium = 2100 + random.nextInt(18_000 / ranks);
            collective(random, kind, type, operation, medium, ranks).run(threads);
          }
        }
      }
    }
  }

  @ParameterizedTest
  @ValueSource(ints = {1, 2, 3, 4, 8})
  void copies_ofAllSizes_arrive(int ranks) throws Exception {
    Random random = new Random(ranks);
    try (RankThreads threads = RankThreads.local(ranks)) {
      for (int kind : new int[] {CollectiveKind.BROADCAST, CollectiveKind.ALL_GATHER}) {
        for (long count : new long[] {0, 1, 2, 7, 1000, 16_384, 16_385, 70_001}) {
          collective(random, kind, ElementType.INT8, 0, count, ranks).run(threads);
          collective(random, kind, ElementType.INT64, 0, count, ranks).run(threads);
        }
      }
    }
  }

  @ParameterizedTest
  @ValueSource(ints = {2, 3, 4})
  void collectives_ofSeveralSegments_areExact(int ranks) throws Exception {
    Random random = new Random(ranks);
    try (RankThreads threads = RankThreads.local(ranks)) {
      severalSegments(random, threads);
    }
  }

  @ParameterizedTest
  @CsvSource({"2, 1", "3, 1", "4, 2", "3, 2"})
  void collectives_ofSeveralProcesses_areExact(int ranks, int ranksAProcess) throws Exception {
    Random random = new Random(ranks);
    try (RankThreads threads = RankThreads.overSockets(ranks, ranksAProcess)) {
      for (int kind = 0; kind <= CollectiveKind.REDUCE_SCATTER; kind++) {
        for (long count : new long[] {0, 1, 1000, 20_000}) {
          int operation = random.nextInt(OPERATIONS);
          collective(random, kind, ElementType.FLOAT32, operation, count, ranks).run(threads);
        }
      }
      severalSegments(random, threads);
    }
  }

  @ParameterizedTest
  @ValueSource(ints = {2, 3, 8})
  void allReductions_ofRandomNumbers_giveAllRanksTheSameBits(int ranks) throws Exception {
    try (RankThreads threads = RankThreads.local(ranks);
        Arena arena = Arena.ofConfined()) {
      for (int count : new int[] {1, 5, 1000, 30_000}) {
        int lengthBytes = count * Float.BYTES;
        long[] buffers = new long[ranks];
        Random random = new Random(count);
        for (int rank = 0; rank < ranks; rank++) {
          buffers[rank] = arena.allocate(lengthBytes, 8).address();
          for (int i = 0; i < count; i++) {
            float number = (float) random.nextGaussian();
            Memory.putInt(buffers[rank] + i * 4L, Float.floatToRawIntBits(number));
          }
        }
        threads.run(rank -> List.of(allReduce(buffers[rank], count)));
        for (int rank = 1; rank < ranks; rank++) {
          assertThat(Memory.bytes(buffers[rank], lengthBytes))
              .isEqualTo(Memory.bytes(buffers[0], lengthBytes));
        }
      }
    }
  }

  @ParameterizedTest
  @EnumSource(
      value = ElementType.class,
      names = {"FLOAT16", "BFLOAT16", "FLOAT32", "FLOAT64", "FLOAT8_E4M3", "FLOAT8_E5M2"})
  void averages_whoseSumsWouldOverflow_areExact(ElementType type) throws Exception {
    ReferenceElements elements = new ReferenceElements(type);
    long most = elements.largestPowerOfTwo();
    try (Arena arena = Arena.ofConfined();
        RankThreads threads = RankThreads.local(2)) {
      for (int count : new int[] {3, 40_000}) {
        long lengthBytes = (long) count * type.bytes();
        long[] buffers = new long[2];
        for (int rank = 0; rank < 2; rank++) {
          buffers[rank] = arena.allocate(lengthBytes, 8).address();
          for (int i = 0; i < count; i++) {
            elements.put(buffers[rank] + (long) i * type.bytes(), most);
          }
        }
        threads.run(rank -> List.of(average(type, buffers[rank], count)));
        for (int i = 0; i < count; i++) {
          assertThat(elements.get(buffers[1] + (long) i * type.bytes())).isEqualTo(most);
        }
      }
    }
  }

  private static CollectiveCall average(ElementType type, long buffer, int count) {
    int kind = CollectiveKind.ALL_REDUCE;
    return new CollectiveCall(
        kind, type, ReduceOperation.AVERAGE, 0, buffer, buffer, count, Scalar.NONE);
  }

  private static CollectiveCall allReduce(long buffer, int count) {
    int kind = CollectiveKind.ALL_REDUCE;
    return new CollectiveCall(
        kind, ElementType.FLOAT32, ReduceOperation.SUM, 0, buffer, buffer, count, Scalar.NONE);
  }

  /** Of so many that windows are full, and multiplied, so that scratch slots are, too. */
  private static void severalSegments(Random random, RankThreads threads) throws Exception {
    long segment = Segments.BYTES / Integer.BYTES;
    for (int kind = 0; kind <= CollectiveKind.REDUCE_SCATTER; kind++) {
      boolean isWhole = kind == CollectiveKind.ALL_REDUCE;
      for (int operation : new int[] {ReduceOperation.SUM, ReduceOperation.PRE_MULTIPLIED_SUM}) {
        long count = segment * 9 / 2 * (isWhole ? threads.ranks : 1) + random.nextInt(5000);
        collective(random, kind, ElementType.INT32, operation, count, threads.ranks).run(threads);
      }
    }
  }

  private static int[] reducing() {
    return new int[] {
      CollectiveKind.ALL_REDUCE, CollectiveKind.REDUCE, CollectiveKind.REDUCE_SCATTER
    };
  }

  private static CollectiveCase collective(
      Random random, int kind, ElementType type, int operation, long count, int ranks) {
    return new CollectiveCase(
        kind,
        type,
        operation,
        random.nextInt(ranks),
        count,
        random.nextBoolean(),
        random.nextLong());
  }
}
