// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker.session;

import static org.assertj.core.api.Assertions.assertThat;

import io.gpupool.cuda.AnswerKind;
import io.gpupool.cuda.Backend;
import io.gpupool.cuda.Ops;
import io.gpupool.soft.device.SoftGpu.MissingPtx;
import io.gpupool.soft.device.spec.DeviceSpec;
import io.gpupool.worker.os.Memory;
import io.gpupool.worker.os.Posix;
import io.gpupool.worker.peer.CutRelay;
import io.gpupool.worker.peer.PeerConnections;
import io.gpupool.worker.session.quota.LeasedGpu;
import io.gpupool.worker.session.quota.Ledger;
import io.gpupool.worker.soft.SoftBackend;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Two sessions of one program, joined as their servers would join them, on software GPUs. */
@Timeout(60)
class SeveralSessionsTest {
  private static final int STREAM = 30;
  private static final int STREAMS = 3;
  private static final int EVENT = 40;
  private static final int NON_BLOCKING = 1;
  private static final int CALLBACK = 7;
  private static final long GPU_BYTES = 64L << 20;
  private static final int NOT_READY = 600;
  private static final int INVALID_VALUE = 1;
  private static final String PEERS = "host-a:1\0s-a\0aa\0host-b:2\0s-b\0bb\0";

  private final Backend[] backends = new Backend[2];
  private final PeerConnections[] peers = new PeerConnections[2];
  private final TestSession[] sessions = new TestSession[2];
  private volatile String dialled = "";

  /** Joins the sessions as their workers ask; null: {@link #join} does, and they do not resume. */
  private volatile CutRelay relay;

  private long nextTicket = 1;

  @BeforeEach
  void begin() {
    for (int i = 0; i < 2; i++) {
      int own = i;
      backends[i] = backend(i);
      peers[i] =
          new PeerConnections((link, peer) -> {
            dialled = own + " dials " + link + " " + peer;
            CutRelay cutting = relay;
            if (cutting != null) {
              Thread.startVirtualThread(() -> cutting.connect(peers[0], peers[1]));
            }
          });
      List<LeasedGpu> gpus = List.of(new LeasedGpu(0, GPU_BYTES, 100));
      sessions[i] =
          new TestSession(backends[i], gpus, Ledger.alone(new long[] {GPU_BYTES}), peers[i]);
      sessions[i].retainContext();
      for (int stream = 0; stream < STREAMS; stream++) {
        sessions[i].post(Ops.streamCreate, STREAM + stream, NON_BLOCKING, 0);
      }
    }
  }

  private void introduce() {
    for (int i = 0; i < 2; i++) {
      sessions[i].post(Ops.connections, i, PEERS);
    }
  }

  /** Joins them by connections that break. */
  private void joinThrough(CutRelay cutting, long windowMillis) {
    relay = cutting;
    peers[0].outlive(windowMillis);
    peers[1].outlive(windowMillis);
    introduce();
  }

  @AfterEach
  void end() {
    for (int i = 0; i < 2; i++) {
      sessions[i].close();
      close(backends[i]);
    }
  }

  /** What a link's session runs on. */
  Backend backend(int link) {
    DeviceSpec spec = DeviceSpec.parse("soft:1,mem=64Mi", 1L << 30);
    SoftBackend backend = new SoftBackend(spec, MissingPtx.FAIL);
    if (link > 0) {
      assertThat(backend.moveTo(link, List.of(0))).isTrue();
    }
    return backend;
  }

  void close(Backend backend) {
    ((SoftBackend) backend).close();
  }

  private void join() {
    introduce();
    connect();
  }

  private void connect() {
    int[] pair = Posix.socketPair();
    peers[0].connected(1, pair[0], new byte[0]);
    peers[1].connected(0, pair[1], new byte[0]);
  }

  /** Takes the other worker's place. */
  private int joinByHand(int link) {
    introduce();
    int[] pair = Posix.socketPair();
    peers[link].connected(1 - link, pair[0], new byte[0]);
    return pair[1];
  }

  private static void send(int fd, byte[] bytes) {
    long buffer = Posix.map(1 << 20);
    Memory.put(buffer, bytes, bytes.length);
    Posix.sendAll(fd, buffer, bytes.length, false);
    Posix.unmap(buffer, 1 << 20);
  }

  private static byte[] frame(int length, int kind, int value, long ticket, long... more) {
    ByteBuffer frame = ByteBuffer.allocate(24 + 8 * more.length).order(ByteOrder.LITTLE_ENDIAN);
    frame.putInt(length).putInt(kind).putLong(value).putLong(ticket);
    for (long word : more) {
      frame.putLong(word);
    }
    return frame.array();
  }

  /** The text of FATAL, which everything before it is skipped for. */
  private String fatal(int link) {
    for (Answer answer = sessions[link].readOrEnd();
        answer != null;
        answer = sessions[link].readOrEnd()) {
      if (answer.kind() == AnswerKind.FATAL) {
        return answer.text();
      }
    }
    return "no FATAL";
  }

  private long filled(int link, int value, int lengthBytes) {
    long address = sessions[link].allocate(lengthBytes);
    sessions[link].post(Ops.cuMemsetD8Async, address, value, lengthBytes, STREAM);
    return address;
  }

  private void pull(int to, long target, long source, long lengthBytes, int stream) {
    long ticket = nextTicket++;
    sessions[1 - to].post(Ops.peerAllow, ticket, to, source, lengthBytes);
    sessions[to].post(Ops.peerPull, ticket, 1 - to, target, lengthBytes, stream);
  }

  private void order(int link, int stream, int before, int beforeStream) {
    long ticket = nextTicket++;
    sessions[before].post(Ops.fenceMark, beforeStream, ticket, link);
    sessions[link].post(Ops.fenceWait, stream, ticket, before);
  }

  private int synchronize(int link, int stream) {
    return sessions[link].call(Ops.streamSynchronize, stream).result();
  }

  @Test
  void links_ofTwo_haveTheSecondDialTheFirst() {
    introduce();
    assertThat(synchronize(1, STREAM)).isZero();
    assertThat(dialled).isEqualTo("1 dials 0 PeerAddress[address=host-a:1, session=s-a, key=aa]");
  }

  @Test
  void links_malformed_areRefused() {
    introduce();
    sessions[0].post(Ops.connections, 0, PEERS);
    assertThat(sessions[0].call(Ops.streamQuery, STREAM).result()).isEqualTo(INVALID_VALUE);
  }

  @Test
  void memory_ofTwoSessions_liesInPlacesOfItsOwn() {
    long first = sessions[0].allocate(4096);
    long second = sessions[1].allocate(4096);
    assertThat(first >>> 41).isNotEqualTo(second >>> 41);
    assertThat(second >>> 41).isEqualTo(1);
  }

  @ParameterizedTest
  @ValueSource(ints = {1, 7, 4096, 1 << 20, (3 << 20) + 5})
  void pull_ofAnyLength_bringsTheBytes(int lengthBytes) {
    join();
    Random random = new Random(lengthBytes);
    byte[] bytes = new byte[lengthBytes];
    random.nextBytes(bytes);
    long source = sessions[0].allocate(lengthBytes);
    for (int at = 0; at < lengthBytes; at += 1 << 20) {
      byte[] piece = Arrays.copyOfRange(bytes, at, Math.min(lengthBytes, at + (1 << 20)));
      sessions[0].post(Ops.memcpyHtoD, source + at, STREAM, piece);
    }
    assertThat(synchronize(0, STREAM)).isZero();
    long target = filled(1, 0, lengthBytes);
    pull(1, target, source, lengthBytes, STREAM);
    assertThat(sessions[1].download(target, lengthBytes, STREAM)).isEqualTo(bytes);
    assertThat(sessions[1].counters().peers().bytesIn()).isEqualTo(lengthBytes);
    assertThat(sessions[0].counters().peers().bytesOut()).isEqualTo(lengthBytes);
  }

  @Test
  void pull_intoMappedBlocks_bringsTheBytes() {
    join();
    int lengthBytes = 4 << 20;
    long source = filled(0, 5, lengthBytes);
    assertThat(synchronize(0, STREAM)).isZero();
    long target = sessions[1].call(Ops.vmReserve, (long) lengthBytes, 0L, 0L, 1).u64(0);
    assertThat(sessions[1].call(Ops.vmCreate, 1, 0, (long) lengthBytes, 0).result()).isZero();
    assertThat(sessions[1].call(Ops.vmMap, target, (long) lengthBytes, 0L, 1).result()).isZero();
    int access = sessions[1].call(Ops.vmSetAccess, target, (long) lengthBytes, 0, 3).result();
    assertThat(access).isZero();
    pull(1, target, source, lengthBytes, STREAM);
    byte[] expected = new byte[lengthBytes];
    Arrays.fill(expected, (byte) 5);
    assertThat(sessions[1].download(target, lengthBytes, STREAM)).isEqualTo(expected);
  }

  @Test
  void pull_beforeThereIsAConnection_waitsForIt() {
    introduce();
    long source = filled(0, 9, 100);
    assertThat(synchronize(0, STREAM)).isZero();
    long target = sessions[1].allocate(100);
    pull(1, target, source, 100, STREAM);
    assertThat(sessions[1].call(Ops.streamQuery, STREAM).result()).isEqualTo(NOT_READY);
    connect();
    byte[] expected = new byte[100];
    Arrays.fill(expected, (byte) 9);
    assertThat(sessions[1].download(target, 100, STREAM)).isEqualTo(expected);
  }

  @Test
  void pull_ofNoMemory_isAnErrorOfTheContext() {
    join();
    long target = sessions[1].allocate(100);
    pull(1, target, 4096, 100, STREAM);
    // The read fails while the stream is waited for, or just after: the next fence tells, once.
    int ofStream = synchronize(1, STREAM);
    int ofContext = sessions[1].call(Ops.ctxSynchronize).result();
    assertThat(List.of(ofStream, ofContext)).containsExactlyInAnyOrder(INVALID_VALUE, 0);
    assertThat(sessions[1].call(Ops.ctxSynchronize).result()).isZero();
  }

  @Test
  void ticket_afterAHostFunction_holdsTheOtherStream() {
    join();
    sessions[0].post(Ops.streamHostFunction, STREAM, CALLBACK, 0);
    sessions[0].post(Ops.eventCreate, EVENT, 2);
    sessions[0].post(Ops.eventRecord, EVENT, STREAM, 0);
    sessions[0].post(Ops.fenceSend, EVENT, 100L, 1);
    // The event's later record is not what the ticket is for.
    sessions[0].post(Ops.eventRecord, EVENT, STREAM + 1, 0);
    sessions[1].post(Ops.fenceWait, STREAM, 100L, 0);
    assertThat(sessions[1].call(Ops.streamQuery, STREAM).result()).isEqualTo(NOT_READY);
    assertThat(sessions[0].read().kind()).isEqualTo(AnswerKind.CALLBACK);
    sessions[0].post(Ops.callbackDone, CALLBACK);
    assertThat(synchronize(1, STREAM)).isZero();
  }

  @Test
  void ticket_thatComesFirst_isKept() {
    join();
    order(0, STREAM, 1, STREAM);
    sessions[1].post(Ops.fenceMark, STREAM, 500L, 0);
    assertThat(synchronize(1, STREAM)).isZero();
    assertThat(synchronize(0, STREAM)).isZero();
    sessions[0].post(Ops.fenceWait, STREAM, 500L, 1);
    assertThat(synchronize(0, STREAM)).isZero();
  }

  /**
   * What a random program does in streams of two sessions is what it would do one after the other.
   */
  @ParameterizedTest
  @ValueSource(longs = {1, 2, 3, 4})
  void program_ofRecordsWaitsAndCopies_isAsInOrder(long seed) {
    join();
    runProgram(seed);
  }

  @ParameterizedTest
  @ValueSource(longs = {1, 2, 3, 4})
  void program_whoseServersLoseEachOther_isAsInOrder(long seed) {
    CutRelay cutting = new CutRelay(seed, 20, 50_000);
    joinThrough(cutting, 60_000);
    runProgram(seed);
    assertThat(cutting.connections()).isGreaterThan(5);
  }

  @Test
  void servers_thatLoseEachOtherForLongerThanTheWindow_endTheSessionThatWaits() throws Exception {
    joinThrough(new CutRelay(1, Integer.MAX_VALUE, 1), 1000);
    sessions[1].post(Ops.fenceWait, STREAM, 1L, 0);
    assertThat(fatal(1))
        .contains("the connection to the program's GPUs on host-a:1 is lost")
        .contains("and it did not come back within the resume window of 1 s");
    assertThat(sessions[1].reason()).contains("host-a:1");
    assertThat(sessions[0].call(Ops.ctxSynchronize).result()).as("waits for nothing").isZero();
  }

  private void runProgram(long seed) {
    Random random = new Random(seed);
    int lengthBytes = 20_000;
    long[] addresses = new long[8];
    byte[] model = new byte[8];
    int[] lastStream = new int[8];
    int[] lastLink = new int[8];
    for (int i = 0; i < 8; i++) {
      lastLink[i] = i % 2;
      lastStream[i] = STREAM;
      addresses[i] = filled(i % 2, i, lengthBytes);
      model[i] = (byte) i;
    }
    for (int step = 0; step < 200; step++) {
      int to = random.nextInt(8);
      int from = random.nextInt(8);
      int link = to % 2;
      int stream = STREAM + random.nextInt(STREAMS);
      order(link, stream, lastLink[to], lastStream[to]);
      if (random.nextInt(3) == 0 || to == from) {
        int value = random.nextInt(256);
        sessions[link].post(Ops.cuMemsetD8Async, addresses[to], value, lengthBytes, stream);
        model[to] = (byte) value;
      } else {
        order(link, stream, lastLink[from], lastStream[from]);
        if (from % 2 == link) {
          sessions[link].post(
              Ops.cuMemcpyDtoDAsync_v2, addresses[to], addresses[from], lengthBytes, stream);
        } else {
          pull(link, addresses[to], addresses[from], lengthBytes, stream);
        }
        model[to] = model[from];
        lastLink[from] = link;
        lastStream[from] = stream;
      }
      lastLink[to] = link;
      lastStream[to] = stream;
    }
    for (int i = 0; i < 8; i++) {
      order(i % 2, STREAM, lastLink[i], lastStream[i]);
      byte[] expected = new byte[lengthBytes];
      Arrays.fill(expected, model[i]);
      assertThat(sessions[i % 2].download(addresses[i], lengthBytes, STREAM)).isEqualTo(expected);
    }
  }

  @ParameterizedTest
  @ValueSource(ints = {0, 1, 2, 3, 4, 5, 6})
  void frames_malformed_endThatSessionAlone(int which) throws Exception {
    byte[][] bad = {
      frame(16, 1, 0, 1),
      frame(24, 9, 0, 1),
      frame(1 << 30, 3, 1 << 20, 1),
      frame(24 + 8, 3, -1, 1, 0),
      frame(24 + 8 + 8, 3, 8, 1, 0, 0),
      frame(24, 4, 0, 77),
      frame(-1, 2, 0, 1, 5),
    };
    int fd = joinByHand(1);
    assertThat(sessions[1].call(Ops.ctxSynchronize).result()).isZero();
    send(fd, bad[which]);
    assertThat(fatal(1)).contains("host-a:1").contains("sent what it must not");
    assertThat(sessions[1].reason()).contains("host-a:1");
    assertThat(sessions[0].call(Ops.ctxSynchronize).result()).isZero();
    Posix.close(fd);
  }

  @Test
  void pull_ofMoreThanIsAllowed_endsTheSession() throws Exception {
    int fd = joinByHand(0);
    long source = filled(0, 1, 100);
    sessions[0].post(Ops.peerAllow, 5L, 1, source, 100L);
    send(fd, frame(32, 2, 0, 5, 101));
    assertThat(fatal(0)).contains("not allowed");
    Posix.close(fd);
  }

  @Test
  void peer_thatDiesInTheMidstOfACopy_endsTheSession() throws Exception {
    int fd = joinByHand(1);
    long target = sessions[1].allocate(1 << 20);
    sessions[1].post(Ops.peerPull, 5L, 0, target, 1L << 20, STREAM);
    long buffer = Posix.map(4096);
    assertThat(Posix.recv(fd, buffer, 32, 0)).isEqualTo(32);
    assertThat(Memory.getLong(buffer + 24)).isEqualTo(1 << 20);
    Posix.unmap(buffer, 4096);
    send(fd, frame(32 + 16, 3, 16, 5, 0, 1, 2));
    Posix.shutdown(fd);
    assertThat(fatal(1)).contains("connection to the program's GPUs on host-a:1 is lost");
    assertThat(sessions[1].reason()).contains("host-a:1");
    Posix.close(fd);
  }

  @Test
  void peer_thatIsNeverReached_endsTheSessionThatNeedsIt() {
    introduce();
    peers[1].refused(0, "no way there", false);
    assertThat(sessions[1].call(Ops.ctxSynchronize).result()).isZero();
    sessions[1].post(Ops.fenceWait, STREAM, 1L, 0);
    assertThat(fatal(1)).contains("no way there");
  }

  @Test
  void context_thatIsDestroyed_letsWhatWaitsPass() {
    join();
    sessions[1].post(Ops.fenceWait, STREAM, 1L, 0);
    assertThat(sessions[1].call(Ops.ctxResetPrimary, 0).result()).isZero();
    assertThat(sessions[1].call(Ops.ctxSynchronize).result()).isZero();
  }
}
