// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker.collective;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.gpupool.cuda.CollectiveKind;
import io.gpupool.cuda.ReduceOperation;
import io.gpupool.worker.os.Memory;
import io.gpupool.worker.os.Posix;
import java.lang.foreign.Arena;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.Future;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

@Timeout(60)
class ChannelLossTest {
  private static final int RANKS = 4;
  private static final int LARGE_BYTES = 16 << 20;

  private final Arena arena = Arena.ofShared();

  @AfterEach
  void free() {
    arena.close();
  }

  @ParameterizedTest
  @ValueSource(ints = {8, 1 << 20})
  void closing_whileARankIsMissing_endsAllRanks(int count) throws Exception {
    try (RankThreads local = RankThreads.local(RANKS);
        RankThreads overSockets = RankThreads.overSockets(RANKS, 1)) {
      endWithoutTheLast(local, count);
      endWithoutTheLast(overSockets, count);
    }
  }

  @Test
  void closing_whileBytesAreUnderWay_endsAllRanks() throws Exception {
    try (RankThreads local = RankThreads.local(RANKS);
        RankThreads overSockets = RankThreads.overSockets(RANKS, 1)) {
      endAmidst(local);
      endAmidst(overSockets);
    }
  }

  @Test
  void groups_afterTheEnd_fail() throws Exception {
    try (RankThreads threads = RankThreads.local(2)) {
      threads.channels(0).close();
      Future<?> running = threads.start(1, List.of(allReduce(8)));
      assertThat(RankThreads.failure(running)).isInstanceOf(ChannelException.class);
    }
  }

  @Test
  void socketInlet_ofAPeerThatClosesHalfWay_saysSo() throws Exception {
    int[] pair = Posix.socketPair();
    long block = arena.allocate(100).address();
    assertThat(Posix.sendAll(pair[1], block, 40, false)).isZero();
    Posix.close(pair[1]);
    SocketInlet inlet = new SocketInlet(new ConnectedSocket(pair[0]), new PendingSends());
    inlet.receive(block, 30);
    assertThatThrownBy(() -> inlet.next(30))
        .isInstanceOf(ChannelException.class)
        .hasMessageContaining("its peer closed it");
    assertThatThrownBy(() -> inlet.receive(block, 1)).hasMessageContaining("its peer closed it");
  }

  @Test
  void socketOutlet_ofAPeerThatClosesHalfWay_fails() throws Exception {
    int[] pair = Posix.socketPair();
    long block = arena.allocate(LARGE_BYTES).address();
    SocketOutlet outlet = new SocketOutlet(new ConnectedSocket(pair[0]), new PendingSends());
    outlet.send(block, LARGE_BYTES);
    Memory.clear(block, Posix.recv(pair[1], block, 1000, 0));
    Posix.close(pair[1]);
    assertThatThrownBy(() -> outlet.flush()).isInstanceOf(ChannelException.class);
    assertThatThrownBy(() -> outlet.send(block, 1)).isInstanceOf(ChannelException.class);
  }

  @Test
  void pieces_cutDifferentlyAtBothEnds_arrive() throws Exception {
    int[] pair = Posix.socketPair();
    LocalChannel local = new LocalChannel();
    cutDifferently(local, local);
    cutDifferently(
        new SocketOutlet(new ConnectedSocket(pair[0]), new PendingSends()),
        new SocketInlet(new ConnectedSocket(pair[1]), new PendingSends()));
  }

  @Test
  void pieces_longerThanASegment_areNotPutIntoScratchMemory() {
    int[] pair = Posix.socketPair();
    SocketInlet socket = new SocketInlet(new ConnectedSocket(pair[0]), new PendingSends());
    Posix.close(pair[1]);
    for (Inlet inlet : List.of(socket, new LocalChannel())) {
      for (long lengthBytes : new long[] {-1, Segments.BYTES + 1}) {
        assertThatThrownBy(() -> inlet.next(lengthBytes))
            .isInstanceOf(IllegalArgumentException.class);
      }
      inlet.close();
    }
    assertThatThrownBy(() -> new Scratch().slot(new LocalChannel(), Segments.BYTES + 1))
        .isInstanceOf(IllegalArgumentException.class);
  }

  private void cutDifferently(Outlet outlet, Inlet inlet) throws ChannelException {
    long source = arena.allocate(12).address();
    long target = arena.allocate(12).address();
    for (int i = 0; i < 12; i++) {
      Memory.putByte(source + i, i);
    }
    outlet.send(source, 5);
    outlet.send(source + 5, 0);
    outlet.send(source + 5, 4);
    outlet.send(source + 9, 3);
    assertThat(Memory.bytes(inlet.next(2), 2)).containsExactly(0, 1);
    inlet.release();
    assertThat(Memory.bytes(inlet.next(4), 4)).containsExactly(2, 3, 4, 5);
    inlet.release();
    inlet.receive(target, 6);
    assertThat(Memory.bytes(target, 6)).containsExactly(6, 7, 8, 9, 10, 11);
    outlet.flush();
    outlet.close();
    outlet.close();
    inlet.close();
  }

  private void endWithoutTheLast(RankThreads threads, int count) throws Exception {
    List<Future<?>> running = new ArrayList<>();
    for (int rank = 0; rank < RANKS - 1; rank++) {
      running.add(threads.start(rank, List.of(allReduce(count))));
    }
    Thread.sleep(50);
    threads.channels(RANKS - 1).close();
    for (Future<?> each : running) {
      assertThat(RankThreads.failure(each)).isInstanceOf(ChannelException.class);
    }
  }

  private void endAmidst(RankThreads threads) throws Exception {
    List<Future<?>> running = new ArrayList<>();
    for (int rank = 0; rank < RANKS; rank++) {
      CollectiveCall call = allReduce(LARGE_BYTES / Float.BYTES);
      running.add(threads.start(rank, Collections.nCopies(1000, call)));
    }
    Thread.sleep(50);
    threads.channels(2).close();
    for (Future<?> each : running) {
      assertThat(RankThreads.failure(each)).isInstanceOf(ChannelException.class);
    }
  }

  private CollectiveCall allReduce(int count) {
    return allReduce(arena.allocate((long) count * Float.BYTES).address(), count);
  }

  private static CollectiveCall allReduce(long buffer, int count) {
    int kind = CollectiveKind.ALL_REDUCE;
    return new CollectiveCall(
        kind, ElementType.FLOAT32, ReduceOperation.SUM, 0, buffer, buffer, count, Scalar.NONE);
  }
}
