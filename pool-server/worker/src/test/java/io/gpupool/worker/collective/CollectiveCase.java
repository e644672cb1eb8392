// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker.collective;

import static org.assertj.core.api.Assertions.assertThat;

import io.gpupool.cuda.CollectiveKind;
import io.gpupool.cuda.ReduceOperation;
import io.gpupool.worker.os.Memory;
import java.lang.foreign.Arena;
import java.util.List;
import java.util.Random;

/** One collective on random numbers, and what every rank has to have afterwards. */
record CollectiveCase(
    int kind, ElementType type, int operation, int root, long count, boolean inPlace, long seed) {
  /** Before and after each buffer, which must stay as it is. */
  private static final int GUARD_BYTES = 64;

  private static final byte GUARD = 0x5a;

  /** The buffers of all ranks. */
  private record Buffers(long[] send, long[] receive, long[] scalar) {}

  void run(RankThreads ranks) throws Exception {
    try (Arena arena = Arena.ofConfined()) {
      Buffers buffers = allocate(arena, ranks.ranks);
      long[][] inputs = fill(buffers, ranks.ranks);
      ranks.run(rank -> List.of(call(buffers, rank)));
      for (int rank = 0; rank < ranks.ranks; rank++) {
        check(buffers, inputs, rank);
      }
    }
  }

  private CollectiveCall call(Buffers buffers, int rank) {
    boolean inMemory = rank % 2 == 0;
    long bits = inMemory ? buffers.scalar[rank] : elements().factor();
    Scalar scalar = new Scalar(bits, inMemory);
    long send = buffers.send[rank];
    long receive = buffers.receive[rank];
    return new CollectiveCall(kind, type, operation, root, send, receive, count, scalar);
  }

  private ReferenceElements elements() {
    return new ReferenceElements(type);
  }

  private int sent(int ranks) {
    return (int) (kind == CollectiveKind.REDUCE_SCATTER ? count * ranks : count);
  }

  private int received(int ranks) {
    return (int) (kind == CollectiveKind.ALL_GATHER ? count * ranks : count);
  }

  private Buffers allocate(Arena arena, int ranks) {
    Buffers buffers = new Buffers(new long[ranks], new long[ranks], new long[ranks]);
    for (int rank = 0; rank < ranks; rank++) {
      long send = guarded(arena, sent(ranks));
      long receive = guarded(arena, received(ranks));
      long part = rank * count * type.bytes();
      boolean gathers = kind == CollectiveKind.ALL_GATHER;
      boolean scatters = kind == CollectiveKind.REDUCE_SCATTER;
      buffers.receive[rank] = inPlace ? scatters ? send + part : gathers ? receive : send : receive;
      buffers.send[rank] = inPlace && gathers ? receive + part : send;
      buffers.scalar[rank] = guarded(arena, 1);
      elements().put(buffers.scalar[rank], elements().factor());
    }
    return buffers;
  }

  private long guarded(Arena arena, int elements) {
    long lengthBytes = (long) elements * type.bytes() + 2 * GUARD_BYTES;
    return arena.allocate(lengthBytes, 8).fill(GUARD).address() + GUARD_BYTES;
  }

  private long[][] fill(Buffers buffers, int ranks) {
    Random random = new Random(seed);
    long[][] inputs = new long[ranks][sent(ranks)];
    for (int rank = 0; rank < ranks; rank++) {
      for (int i = 0; i < inputs[rank].length; i++) {
        long value = elements().random(random, operation);
        inputs[rank][i] = counts(rank, i, ranks) ? value : 0;
        elements().put(buffers.send[rank] + (long) i * type.bytes(), inputs[rank][i]);
      }
    }
    return inputs;
  }

  /** Thirds are rounded, so their sums are exact if a single rank has one. */
  private boolean counts(int rank, int index, int ranks) {
    boolean isExact = operation != ReduceOperation.AVERAGE || Integer.bitCount(ranks) == 1;
    return isExact || rank == index % ranks;
  }

  private void check(Buffers buffers, long[][] inputs, int rank) {
    int ranks = inputs.length;
    if (kind != CollectiveKind.REDUCE || rank == root) {
      checkEach(buffers.receive[rank], expected(inputs, rank), "result of rank " + rank);
    } else if (!inPlace) {
      long lengthBytes = (long) received(ranks) * type.bytes();
      long end = buffers.receive[rank] + lengthBytes;
      assertThat(Memory.bytes(end - lengthBytes, (int) lengthBytes + 1)).containsOnly(GUARD);
    }
    if (!inPlace) {
      checkEach(buffers.send[rank], inputs[rank], "input of rank " + rank);
      checkGuards(buffers.send[rank], sent(ranks));
      checkGuards(buffers.receive[rank], received(ranks));
    }
  }

  private void checkEach(long address, long[] expected, String what) {
    for (int i = 0; i < expected.length; i++) {
      long actual = elements().get(address + (long) i * type.bytes());
      if (actual != truncated(expected[i])) {
        assertThat(actual).as("%s, element %d of %s", what, i, this).isEqualTo(expected[i]);
      }
    }
  }

  private long truncated(long bits) {
    int unused = Long.SIZE - Byte.SIZE * type.bytes();
    return bits << unused >> unused;
  }

  private void checkGuards(long address, int elements) {
    long end = address + (long) elements * type.bytes();
    assertThat(Memory.bytes(address - GUARD_BYTES, GUARD_BYTES)).containsOnly(GUARD);
    assertThat(Memory.bytes(end, GUARD_BYTES)).containsOnly(GUARD);
  }

  private long[] expected(long[][] inputs, int rank) {
    int ranks = inputs.length;
    if (kind == CollectiveKind.BROADCAST) {
      return inputs[root];
    }
    long[] result = new long[received(ranks)];
    long start = kind == CollectiveKind.REDUCE_SCATTER ? rank * count : 0;
    for (int i = 0; i < result.length; i++) {
      result[i] =
          kind == CollectiveKind.ALL_GATHER
              ? inputs[i / (int) count][i % (int) count]
              : reduced(inputs, (int) start + i);
    }
    return result;
  }

  private long reduced(long[][] inputs, int index) {
    long result = input(inputs[0][index], inputs.length);
    for (int rank = 1; rank < inputs.length; rank++) {
      long input = input(inputs[rank][index], inputs.length);
      result = elements().combine(operation, result, input);
    }
    boolean isAverage = operation == ReduceOperation.AVERAGE;
    return isAverage ? elements().divide(result, inputs.length) : result;
  }

  private long input(long bits, int ranks) {
    return switch (operation) {
      case ReduceOperation.AVERAGE -> elements().averaged(bits, ranks);
      case ReduceOperation.PRE_MULTIPLIED_SUM -> elements().multiply(bits, elements().factor());
      default -> bits;
    };
  }
}
