// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker.rings;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIOException;

import io.gpupool.cuda.RingState;
import io.gpupool.cuda.SharedMemory;
import io.gpupool.worker.os.Memory;
import io.gpupool.worker.os.Posix;
import io.gpupool.worker.os.UnixSocket;
import java.io.RandomAccessFile;
import java.util.Random;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

@Timeout(60)
class SharedConnectionTest {
  private static final int BUFFER_BYTES = 8 << 20;
  private static final long POSITION_STEP = 1L << 40;

  private final long sent = Posix.map(BUFFER_BYTES);
  private final long received = Posix.map(BUFFER_BYTES);
  private final long poll = Memory.allocateForever(8);
  private int workerSocket;
  private SharedConnection worker;
  private ProgramRings program;

  @BeforeEach
  void connect() throws Exception {
    int[] pair = Posix.socketPair();
    workerSocket = pair[0];
    worker = SharedConnection.open(workerSocket);
    program = new ProgramRings(pair[1]);
  }

  @AfterEach
  void release() {
    program.close();
    Posix.close(workerSocket);
    worker.release();
    Posix.unmap(sent, BUFFER_BYTES);
    Posix.unmap(received, BUFFER_BYTES);
  }

  private void fill(long seed) {
    byte[] random = new byte[BUFFER_BYTES];
    new Random(seed).nextBytes(random);
    Memory.put(sent, random, random.length);
  }

  private void checkReceived() {
    assertThat(Memory.bytes(received, BUFFER_BYTES)).isEqualTo(Memory.bytes(sent, BUFFER_BYTES));
  }

  @ParameterizedTest
  @ValueSource(ints = {1, 2, 3})
  void requests_ofAllLengths_arriveInOrder(int seed) throws Exception {
    fill(seed);
    Random lengths = new Random(seed);
    CompletableFuture<Void> sending =
        CompletableFuture.runAsync(() -> {
          for (long at = 0; at < BUFFER_BYTES; ) {
            long part = Math.min(BUFFER_BYTES - at, 1 + lengths.nextInt(1 << lengths.nextInt(22)));
            program.send(sent + at, part);
            at += part;
          }
        });
    Random rooms = new Random(-seed);
    for (long at = 0; at < BUFFER_BYTES; ) {
      long room = Math.min(BUFFER_BYTES - at, 1 + rooms.nextInt(1 << rooms.nextInt(22)));
      int flags = rooms.nextBoolean() ? Posix.MSG_DONTWAIT : 0;
      long got = worker.receive(received + at, room, flags);
      assertThat(got)
          .isNotZero()
          .satisfiesAnyOf(
              some -> assertThat(some).isPositive(),
              none -> assertThat(none).isEqualTo(-Posix.EAGAIN));
      at += Math.max(0, got);
    }
    sending.get(10, TimeUnit.SECONDS);
    checkReceived();
  }

  @ParameterizedTest
  @ValueSource(booleans = {true, false})
  void answers_ofAllLengths_arriveInOrder(boolean more) throws Exception {
    fill(7);
    CompletableFuture<Void> taking =
        CompletableFuture.runAsync(() -> {
          for (long at = 0; at < BUFFER_BYTES; ) {
            at += program.receive(received + at, BUFFER_BYTES - at, 0);
          }
        });
    Random lengths = new Random(8);
    for (long at = 0; at < BUFFER_BYTES; ) {
      long part = Math.min(BUFFER_BYTES - at, 1 + lengths.nextInt(1 << lengths.nextInt(22)));
      boolean moreFollows = more && at + part < BUFFER_BYTES;
      assertThat(worker.sendAll(sent + at, part, moreFollows)).isZero();
      at += part;
    }
    taking.get(10, TimeUnit.SECONDS);
    checkReceived();
  }

  @Test
  void receive_afterTheProgramsEnd_givesWhatItPutInBefore() {
    fill(9);
    assertThat(program.putSome(sent, 100)).isEqualTo(100);
    program.close();
    assertThat(worker.receive(received, 1000, 0)).isEqualTo(100);
    assertThat(worker.receive(received, 1000, 0)).isZero();
    assertThat(worker.receive(received, 1000, 0)).isZero();
  }

  @Test
  void awaitReadable_bytesAtTheDoorAndNothingElse_isFoundToBeNothing() {
    assertThat(worker.awaitReadable(poll, 0)).isFalse();
    program.putSome(sent, 8);
    assertThat(worker.awaitReadable(poll, 1000)).isTrue();
    assertThat(worker.receive(received, 1000, Posix.MSG_DONTWAIT)).isEqualTo(8);
    // The byte that woke it may still lie there.
    for (int i = 0; i < 3 && worker.awaitReadable(poll, 0); i++) {
      assertThat(worker.receive(received, 1000, Posix.MSG_DONTWAIT)).isEqualTo(-Posix.EAGAIN);
    }
    assertThat(worker.awaitReadable(poll, 0)).isFalse();
  }

  @Test
  void awaitReadable_programHasGone_isTrueAndThenTheEnd() {
    program.close();
    assertThat(worker.awaitReadable(poll, 1000)).isTrue();
    assertThat(worker.receive(received, 1000, Posix.MSG_DONTWAIT)).isZero();
  }

  @Test
  void sendAll_programTakesNothingAndGoes_fails() throws Exception {
    CompletableFuture<Integer> sending =
        CompletableFuture.supplyAsync(() -> worker.sendAll(sent, BUFFER_BYTES, false));
    Thread.sleep(50);
    assertThat(sending).isNotDone();
    program.close();
    assertThat(sending.get(10, TimeUnit.SECONDS)).isEqualTo(-Posix.ECONNRESET);
  }

  @ParameterizedTest
  @ValueSource(longs = {-1, SharedMemory.RING_BYTES + 1, POSITION_STEP, Long.MIN_VALUE})
  void receive_positionThatCannotBe_isAnErrorOfThisStream(long head) {
    program.claimToHavePut(head);
    assertThat(worker.receive(received, BUFFER_BYTES, Posix.MSG_DONTWAIT)).isEqualTo(-Posix.EPROTO);
    assertThat(worker.receive(received, BUFFER_BYTES, 0)).isEqualTo(-Posix.EPROTO);
  }

  @ParameterizedTest
  @ValueSource(longs = {-1 - SharedMemory.RING_BYTES, 1, POSITION_STEP, Long.MIN_VALUE})
  void sendAll_positionThatCannotBe_isAnErrorOfThisStream(long tail) {
    long state = program.memory() + SharedMemory.ANSWERS_STATE;
    Memory.putLongVolatile(state + RingState.TAIL, tail);
    assertThat(worker.sendAll(sent, 100, false)).isEqualTo(-Posix.EPROTO);
  }

  @Test
  void state_scribbledOverAllTheTime_neverLeavesTheRing() throws Exception {
    CompletableFuture<Void> scribbling = new CompletableFuture<>();
    Thread scribbler =
        Thread.ofPlatform()
            .start(() -> {
              Random random = new Random(11);
              while (!scribbling.isDone()) {
                long at = program.memory() + 4L * random.nextInt(SharedMemory.REQUESTS / 4);
                Memory.putIntVolatile(at, random.nextInt(1 << random.nextInt(1, 31)));
              }
            });
    for (int i = 0; i < 5_000; i++) {
      assertThat(worker.receive(received, BUFFER_BYTES, Posix.MSG_DONTWAIT))
          .isLessThanOrEqualTo(SharedMemory.RING_BYTES);
      assertThat(worker.awaitReadable(poll, 0)).isIn(true, false);
    }
    scribbling.complete(null);
    scribbler.join();
  }

  @Test
  void memory_madeShorterByTheProgram_isRefusedByTheKernel() throws Exception {
    int[] pair = Posix.socketPair();
    SharedConnection other = SharedConnection.open(pair[0]);
    int descriptor = new UnixSocket(pair[1]).receiveDescriptor().orElseThrow();
    try (RandomAccessFile file = new RandomAccessFile("/proc/self/fd/" + descriptor, "rw")) {
      assertThatIOException().isThrownBy(() -> file.setLength(0));
      assertThatIOException().isThrownBy(() -> file.setLength(2L * SharedMemory.MEMORY_BYTES));
      assertThat(file.length()).isEqualTo(SharedMemory.MEMORY_BYTES);
    }
    Posix.close(descriptor);
    other.release();
    Posix.close(pair[0]);
    Posix.close(pair[1]);
  }
}
