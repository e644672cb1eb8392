// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker.collective;

import static org.assertj.core.api.Assertions.assertThat;

import io.gpupool.cuda.CollectiveKind;
import io.gpupool.cuda.ReduceOperation;
import io.gpupool.worker.os.Memory;
import java.lang.foreign.Arena;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Random;
import java.util.concurrent.Future;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

@Timeout(60)
class TransfersTest {
  private static final int RANKS = 4;

  private final Arena arena = Arena.ofShared();

  @AfterEach
  void free() {
    arena.close();
  }

  @ParameterizedTest
  @ValueSource(ints = {1, 1000, 3_000_000})
  void transfers_amongAllInAnyOrder_arrive(int lengthBytes) throws Exception {
    try (RankThreads local = RankThreads.local(RANKS);
        RankThreads overSockets = RankThreads.overSockets(RANKS, 1);
        RankThreads mixed = RankThreads.overSockets(RANKS, 2)) {
      everyoneToEveryone(local, lengthBytes);
      everyoneToEveryone(overSockets, lengthBytes);
      everyoneToEveryone(mixed, lengthBytes);
    }
  }

  @Test
  void transfers_betweenTheSameRanks_pairInOrder() throws Exception {
    long source = bytes(1, 2, 3, 4, 5);
    long target = bytes(0, 0, 0, 0, 0);
    List<CollectiveCall> sends = List.of(send(1, source, 2), send(1, source + 2, 3));
    List<CollectiveCall> receives = List.of(receive(0, target + 3, 2), receive(0, target, 3));
    try (RankThreads threads = RankThreads.local(2)) {
      threads.run(rank -> rank == 0 ? sends : receives);
    }
    assertThat(Memory.bytes(target, 5)).containsExactly(3, 4, 5, 1, 2);
  }

  @Test
  void transfers_toOneself_areCopiedInOrder() throws Exception {
    long source = bytes(1, 2, 3);
    long target = bytes(0, 0, 0);
    try (RankThreads threads = RankThreads.local(1)) {
      threads.run(rank ->
          List.of(
              receive(0, target, 1),
              send(0, source + 2, 1),
              send(0, source, 2),
              receive(0, target + 1, 2)));
    }
    assertThat(Memory.bytes(target, 3)).containsExactly(3, 1, 2);
  }

  @Test
  void transfers_toOneselfThatDoNotMatch_fail() throws Exception {
    try (RankThreads threads = RankThreads.local(1)) {
      Future<?> running = threads.start(0, List.of(send(0, bytes(1), 1)));
      assertThat(RankThreads.failure(running)).hasMessageContaining("receive from itself");
    }
  }

  @Test
  void groups_ofTransfersAndCollectives_workOnEachRank() throws Exception {
    long[] numbers = {bytes(1, 2), bytes(3, 4)};
    long[] received = {bytes(0, 0), bytes(0, 0)};
    int kind = CollectiveKind.ALL_REDUCE;
    try (RankThreads threads = RankThreads.local(2)) {
      threads.run(rank ->
          List.of(
              send(1 - rank, numbers[rank], 2),
              new CollectiveCall(
                  kind,
                  ElementType.INT8,
                  ReduceOperation.SUM,
                  0,
                  numbers[rank],
                  numbers[rank],
                  2,
                  Scalar.NONE),
              receive(1 - rank, received[rank], 2)));
    }
    assertThat(Memory.bytes(numbers[0], 2)).containsExactly(4, 6);
    assertThat(Memory.bytes(numbers[1], 2)).containsExactly(4, 6);
    assertThat(Memory.bytes(received[0], 2)).containsExactly(3, 4);
    assertThat(Memory.bytes(received[1], 2)).containsExactly(1, 2);
  }

  private void everyoneToEveryone(RankThreads threads, int lengthBytes) throws Exception {
    long[][] sent = new long[RANKS][RANKS];
    long[][] received = new long[RANKS][RANKS];
    List<List<CollectiveCall>> groups = new ArrayList<>();
    for (int rank = 0; rank < RANKS; rank++) {
      List<CollectiveCall> group = new ArrayList<>();
      for (int other = 0; other < RANKS; other++) {
        sent[rank][other] = arena.allocate(lengthBytes).fill((byte) (10 * rank + other)).address();
        received[rank][other] = arena.allocate(lengthBytes).address();
        group.add(send(other, sent[rank][other], lengthBytes));
        group.add(receive(other, received[rank][other], lengthBytes));
      }
      Collections.shuffle(group, new Random(rank));
      groups.add(group);
    }
    threads.run(groups::get);
    for (int rank = 0; rank < RANKS; rank++) {
      for (int other = 0; other < RANKS; other++) {
        assertThat(Memory.bytes(received[rank][other], lengthBytes))
            .isEqualTo(Memory.bytes(sent[other][rank], lengthBytes));
      }
    }
  }

  private long bytes(int... values) {
    long address = arena.allocate(values.length).address();
    for (int i = 0; i < values.length; i++) {
      Memory.putByte(address + i, values[i]);
    }
    return address;
  }

  private static CollectiveCall send(int peer, long address, long count) {
    return transfer(CollectiveKind.SEND, peer, address, 0, count);
  }

  private static CollectiveCall receive(int peer, long address, long count) {
    return transfer(CollectiveKind.RECEIVE, peer, 0, address, count);
  }

  private static CollectiveCall transfer(int kind, int peer, long send, long receive, long count) {
    return new CollectiveCall(
        kind, ElementType.INT8, ReduceOperation.SUM, peer, send, receive, count, Scalar.NONE);
  }
}
