// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker.session;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.gpupool.cuda.CollectiveKind;
import io.gpupool.cuda.CudaResult;
import io.gpupool.cuda.Ops;
import io.gpupool.cuda.ReduceOperation;
import io.gpupool.soft.device.SoftGpu.MissingPtx;
import io.gpupool.soft.device.spec.DeviceSpec;
import io.gpupool.worker.peer.PeerConnections;
import io.gpupool.worker.session.exchange.Exchange;
import io.gpupool.worker.session.quota.LeasedGpu;
import io.gpupool.worker.session.quota.Ledger;
import io.gpupool.worker.soft.SoftBackend;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.ArrayList;
import java.util.List;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Communicators whose ranks are sessions of this process. */
@Timeout(60)
class CommunicatorsTest {
  private static final int NUMBER = 5;
  private static final int STREAM = 16;
  private static final int INT32 = 2;
  private static final int ELEMENTS = 1000;
  private static final long BYTES = 4L * ELEMENTS;
  private static final long QUOTA_BYTES = 64L << 20;
  private static final int SUCCESS = 0;
  private static final int INVALID_USAGE = 5;
  private static final int REMOTE_ERROR = 6;
  private static final int IN_PROGRESS = 7;

  private final SoftBackend backend =
      new SoftBackend(new DeviceSpec(1, 1L << 30, 90), MissingPtx.SKIP);
  private final TestRankDirectory directory = new TestRankDirectory();
  private final List<Rank> ranks = new ArrayList<>();

  /** A session with memory to send from and to receive to. */
  private final class Rank {
    private final TestSession session =
        new TestSession(
            backend,
            List.of(new LeasedGpu(0, QUOTA_BYTES, 100)),
            Ledger.alone(new long[] {QUOTA_BYTES}),
            new OtherSessions(Exchange.NONE, PeerConnections.none(), directory));
    private final long send;
    private final long receive;

    Rank() {
      ranks.add(this);
      session.retainContext();
      send = session.allocate(BYTES);
      receive = session.allocate(BYTES);
      session.post(Ops.streamCreate, STREAM, 1, 0);
    }

    int join(int rank, int count) {
      return session.call(Ops.communicatorJoin, NUMBER, count, rank, new byte[128]).result();
    }

    /** State, ranks, rank and pending calls. */
    List<Long> state(int number) {
      Answer answer = session.call(Ops.communicatorState, number, 1, 1, 1, 1);
      assertThat(answer.result()).isZero();
      return List.of(answer.u64(0), answer.u64(8), answer.u64(16), answer.u64(24));
    }

    void await(int number, int state) {
      Awaitility.await().untilAsserted(() -> assertThat(state(number).getFirst()).isEqualTo(state));
    }

    String error() {
      Answer answer = session.call(Ops.communicatorError, NUMBER, 1024);
      return new String(answer.variable(0), UTF_8);
    }

    /** Adds up a vector whose elements all have this value. */
    void allReduce(int value, long source, int kind) {
      byte[] values = new byte[(int) BYTES];
      ByteBuffer filled = ByteBuffer.wrap(values).order(ByteOrder.LITTLE_ENDIAN);
      while (filled.hasRemaining()) {
        filled.putInt(value);
      }
      session.post(Ops.memcpyHtoD, send, STREAM, values);
      session.post(Ops.communicatorCalls, NUMBER, STREAM, call(kind, source, receive));
    }

    int synchronize() {
      return session.call(Ops.streamSynchronize, STREAM).result();
    }

    int received() {
      byte[] bytes = session.download(receive, BYTES, STREAM);
      ByteBuffer all = ByteBuffer.wrap(bytes).order(ByteOrder.LITTLE_ENDIAN);
      for (int at = 0; at < bytes.length; at += 4) {
        assertThat(all.getInt(at)).isEqualTo(all.getInt(0));
      }
      return all.getInt(0);
    }
  }

  private static byte[] call(int kind, long send, long receive) {
    return ByteBuffer.allocate(56)
        .order(ByteOrder.LITTLE_ENDIAN)
        .putInt(kind)
        .putInt(INT32)
        .putInt(ReduceOperation.SUM)
        .putInt(0)
        .putLong(send)
        .putLong(receive)
        .putLong(ELEMENTS)
        .array();
  }

  private List<Rank> communicator(int count) {
    for (int rank = 0; rank < count; rank++) {
      assertThat(new Rank().join(rank, count)).isZero();
    }
    ranks.forEach(rank -> rank.await(NUMBER, SUCCESS));
    return ranks;
  }

  @AfterEach
  void close() {
    ranks.forEach(rank -> rank.session.close());
    backend.close();
  }

  @Test
  void sessions_thatJoin_addUpTheirVectors() {
    List<Rank> three = communicator(3);
    assertThat(three.get(2).state(NUMBER)).containsExactly((long) SUCCESS, 3L, 2L, 0L);
    for (int round = 1; round <= 3; round++) {
      for (Rank rank : three) {
        rank.allReduce(round, rank.send, CollectiveKind.ALL_REDUCE);
      }
      for (Rank rank : three) {
        assertThat(rank.synchronize()).isZero();
        assertThat(rank.received()).isEqualTo(3 * round);
      }
    }
    three.forEach(rank -> rank.session.post(Ops.communicatorEnd, NUMBER));
    await().until(() -> directory.size() == 0);
  }

  @Test
  void session_thatWaitsForOthers_goesOnWithOtherCalls() {
    Rank first = new Rank();
    assertThat(first.join(0, 2)).isZero();
    assertThat(first.state(NUMBER)).containsExactly((long) IN_PROGRESS, 0L, 0L, 0L);
    assertThat(first.synchronize()).isZero();
  }

  @Test
  void rank_thatIsKilled_endsTheCallsOfTheOthersWithAnError() {
    List<Rank> two = communicator(2);
    Rank first = two.getFirst();
    first.allReduce(1, first.send, CollectiveKind.ALL_REDUCE);
    two.get(1).session.post(Ops.communicatorAbort, NUMBER);
    first.await(NUMBER, REMOTE_ERROR);
    assertThat(first.error()).isNotEmpty();
    assertThat(first.synchronize()).isEqualTo(CudaResult.EXTERNAL_DEVICE);
    assertThat(first.synchronize()).isZero();
  }

  @Test
  void communicator_thatIsAborted_letsItsStreamPass() {
    Rank first = communicator(2).getFirst();
    first.allReduce(1, first.send, CollectiveKind.ALL_REDUCE);
    first.session.post(Ops.communicatorAbort, NUMBER);
    assertThat(first.synchronize()).isZero();
    first.session.post(Ops.communicatorEnd, NUMBER);
    assertThat(first.session.call(Ops.communicatorState, NUMBER, 1, 1, 1, 1).result())
        .isEqualTo(CudaResult.INVALID_HANDLE);
  }

  /** A session's memory may be unmapped once it is closed. */
  @Test
  void session_thatIsClosed_leavesNoThreadBehind() {
    List<Rank> two = communicator(2);
    List<Thread> threads = rankThreads();
    assertThat(threads).hasSize(2);
    for (Rank rank : two) {
      rank.allReduce(1, rank.send, CollectiveKind.ALL_REDUCE);
    }
    two.getFirst().session.post(Ops.communicatorEnd, NUMBER);
    two.forEach(rank -> rank.session.close());
    ranks.clear();
    assertThat(threads).noneMatch(Thread::isAlive);
  }

  private static List<Thread> rankThreads() {
    return Thread.getAllStackTraces().keySet().stream()
        .filter(thread -> thread.getName().startsWith("rank "))
        .toList();
  }

  /** Its threads would be without number otherwise. */
  @Test
  void communicators_thatWaitForOthers_areLimitedThoughTheyAreEnded() {
    Rank one = new Rank();
    Rank other = new Rank();
    for (int i = 0; i < 256; i++) {
      assertThat(one.session.call(Ops.communicatorJoin, i, 2, 0, id(i)).result()).isZero();
      assertThat(other.session.call(Ops.communicatorJoin, i, 2, 1, id(i)).result()).isZero();
      while (one.state(i).getFirst() == IN_PROGRESS) {
        Thread.onSpinWait();
      }
      byte[] call = call(CollectiveKind.ALL_REDUCE, one.send, one.receive);
      one.session.post(Ops.communicatorCalls, i, STREAM, call);
      one.session.post(Ops.communicatorEnd, i);
    }
    assertThat(one.join(0, 1)).isEqualTo(CudaResult.OUT_OF_MEMORY);
  }

  @Test
  void communicator_thatIsEndedBeforeItBegins_isLost() {
    Rank first = new Rank();
    assertThat(first.join(0, 2)).isZero();
    first.session.post(Ops.communicatorEnd, NUMBER);
    await().until(() -> directory.size() == 0);
  }

  private static byte[] id(int number) {
    return ByteBuffer.allocate(128).putInt(number).array();
  }

  @Test
  void call_thatNamesForeignMemory_endsTheCommunicator() {
    List<Rank> two = communicator(2);
    Rank first = two.getFirst();
    first.allReduce(1, first.send + (1L << 40), CollectiveKind.ALL_REDUCE);
    assertThat(first.synchronize()).isEqualTo(CudaResult.INVALID_VALUE);
    assertThat(first.state(NUMBER).getFirst()).isEqualTo(INVALID_USAGE);
    two.get(1).await(NUMBER, REMOTE_ERROR);
  }

  @Test
  void call_ofNoKnownKind_endsTheCommunicator() {
    Rank first = communicator(1).getFirst();
    first.allReduce(1, first.send, 77);
    assertThat(first.synchronize()).isEqualTo(CudaResult.INVALID_VALUE);
    assertThat(first.state(NUMBER).getFirst()).isEqualTo(INVALID_USAGE);
  }

  @Test
  void split_byColour_makesCommunicatorsInTheOrderOfKeys() {
    List<Rank> four = communicator(4);
    for (int rank = 0; rank < 4; rank++) {
      int color = rank == 3 ? -1 : rank % 2;
      Answer answer = four.get(rank).session.call(Ops.communicatorSplit, NUMBER, 6, color, -rank);
      assertThat(answer.result()).isZero();
    }
    four.forEach(rank -> rank.await(6, SUCCESS));
    assertThat(four.get(0).state(6)).containsExactly((long) SUCCESS, 2L, 1L, 0L);
    assertThat(four.get(1).state(6)).containsExactly((long) SUCCESS, 1L, 0L, 0L);
    assertThat(four.get(2).state(6)).containsExactly((long) SUCCESS, 2L, 0L, 0L);
    assertThat(four.get(3).state(6)).containsExactly((long) SUCCESS, 0L, 0L, 0L);
  }

  @Test
  void join_ofARankOutOfRange_orWithAnotherId_isRefused() {
    Rank one = new Rank();
    assertThat(one.join(2, 2)).isEqualTo(CudaResult.INVALID_VALUE);
    assertThat(one.join(0, 0)).isEqualTo(CudaResult.INVALID_VALUE);
    assertThat(one.session.call(Ops.communicatorJoin, NUMBER, 1, 0, new byte[3]).result())
        .isEqualTo(CudaResult.INVALID_VALUE);
    assertThat(one.session.call(Ops.communicatorSplit, NUMBER, 6, 0, 0).result())
        .isEqualTo(CudaResult.INVALID_HANDLE);
  }

  @Test
  void rank_thatIsTaken_isToldSo() {
    Rank first = new Rank();
    Rank second = new Rank();
    assertThat(first.join(0, 2)).isZero();
    assertThat(second.join(0, 2)).isZero();
    second.await(NUMBER, INVALID_USAGE);
    assertThat(second.error()).contains("taken");
  }

  @Test
  void session_thatEnds_leavesTheDirectory() {
    Rank first = communicator(2).getFirst();
    first.session.disconnect();
    ranks.get(1).await(NUMBER, REMOTE_ERROR);
    await().until(() -> directory.size() == 0);
  }
}
