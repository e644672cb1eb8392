// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker.session;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.gpupool.cuda.CudaResult;
import io.gpupool.cuda.Ops;
import io.gpupool.soft.device.SoftGpu.MissingPtx;
import io.gpupool.soft.device.spec.DeviceSpec;
import io.gpupool.worker.session.quota.LeasedGpu;
import io.gpupool.worker.session.quota.Ledger;
import io.gpupool.worker.soft.SoftBackend;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Memory that is freed behind work of the software GPU: it counts until it is gone. */
@Timeout(120)
class FreedMemoryTest {
  private static final long QUOTA = 64 << 20;
  private static final long PIECE = 40 << 20;
  private static final long WORD_BYTES = 512;
  private static final int STUCK = 16;
  private static final int FREE = 17;
  private static final int ARRAY = 50;
  private static final int WAIT_32 = 1;
  private static final int WRITE_32 = 2;

  private final SoftBackend backend =
      new SoftBackend(new DeviceSpec(2, 1L << 30, 90), MissingPtx.SKIP);
  private final Ledger ledger = Ledger.alone(new long[] {QUOTA});
  private TestSession session;
  private long word;

  @BeforeEach
  void openSession() {
    session = new TestSession(backend, List.of(new LeasedGpu(0, QUOTA, 100)), ledger);
    session.retainContext();
    session.post(Ops.streamCreate, STUCK, 1, 0);
    session.post(Ops.streamCreate, FREE, 1, 0);
    word = session.allocate(WORD_BYTES);
    session.post(Ops.cuMemsetD8Async, word, 0, 4, FREE);
    assertThat(session.call(Ops.ctxSynchronize).result()).isZero();
  }

  @AfterEach
  void closeSession() {
    session.close();
    backend.close();
  }

  @Test
  void freed_behindAStreamThatStandsStill_countsUntilTheStreamGetsThere() {
    long piece = session.allocate(PIECE);
    standStill();
    session.post(Ops.memFree, piece);

    assertThat(freeBytes()).isLessThan(QUOTA - PIECE);
    assertThat(session.call(Ops.memAlloc, PIECE, 1).result()).isEqualTo(CudaResult.OUT_OF_MEMORY);
    assertThat(ledger.sessionBytes(0)).isGreaterThanOrEqualTo(PIECE);

    goOn();
    session.allocate(PIECE);
    assertThat(ledger.sessionBytes(0)).isLessThan(2 * PIECE);
  }

  @Test
  void freedInAStream_thatStandsStill_countsUntilTheStreamGetsThere() {
    Answer made = session.call(Ops.memAllocAsync, PIECE, 0, FREE, 1);
    standStill();
    session.post(Ops.memFreeAsync, made.u64(0), STUCK);

    assertThat(freeBytes()).isLessThan(QUOTA - PIECE);
    assertThat(session.call(Ops.memAllocAsync, PIECE, 0, FREE, 1).result())
        .isEqualTo(CudaResult.OUT_OF_MEMORY);

    goOn();
    assertThat(session.call(Ops.memAllocAsync, PIECE, 0, FREE, 1).result()).isZero();
  }

  @Test
  void array_destroyedBehindAStreamThatStandsStill_counts() {
    assertThat(session.call(Ops.arrayCreate, ARRAY, 2048, 2048, 0, 0x20, 2, 0).result()).isZero();
    standStill();
    session.post(Ops.arrayDestroy, ARRAY);

    assertThat(freeBytes()).isLessThan(QUOTA - (32 << 20));
    goOn();
    assertThat(session.call(Ops.ctxSynchronize).result()).isZero();
    session.allocate(QUOTA - WORD_BYTES);
  }

  @Test
  void context_reset_countsWhatItsStreamsStillUse() {
    session.allocate(PIECE);
    standStill();
    assertThat(session.call(Ops.ctxResetPrimary, 0).result()).isZero();

    assertThat(ledger.sessionBytes(0)).isGreaterThanOrEqualTo(PIECE);
  }

  @Test
  void otherSessions_ofTheLease_haveNoneOfWhatIsStillThere() {
    try (SoftBackend second = new SoftBackend(new DeviceSpec(2, 1L << 30, 90), MissingPtx.SKIP);
        TestSession other =
            new TestSession(second, List.of(new LeasedGpu(0, QUOTA, 100)), ledger)) {
      other.retainContext();
      long piece = session.allocate(PIECE);
      standStill();
      session.post(Ops.memFree, piece);
      assertThat(session.call(Ops.memGetInfo, 1, 1).result()).isZero();

      assertThat(other.call(Ops.memAlloc, PIECE, 1).result()).isEqualTo(CudaResult.OUT_OF_MEMORY);

      goOn();
      assertThat(session.call(Ops.ctxSynchronize).result()).isZero();
      // The free is in no stream that the call waits for: it comes to its turn just after.
      await().until(() -> other.call(Ops.memAlloc, PIECE, 1).result() == CudaResult.SUCCESS);
    }
  }

  @Test
  void allocatingAndFreeing_withWorkUnderWay_alwaysFindsRoom() {
    for (int i = 0; i < 100; i++) {
      long piece = session.allocate(PIECE);
      session.post(Ops.cuMemsetD32Async, piece, i, PIECE / 4, STUCK);
      session.post(i % 2 == 0 ? Ops.memFree : Ops.cuMemsetD8Async, freeOrFill(i, piece));
      if (i % 2 != 0) {
        session.post(Ops.memFree, piece);
      }
    }
    assertThat(session.call(Ops.ctxSynchronize).result()).isZero();
    session.allocate(QUOTA - WORD_BYTES);
  }

  @Test
  void hostFunction_thatAFreeWaitsFor_mayEndWhileAnAllocationWaits() {
    long piece = session.allocate(PIECE);
    session.post(Ops.streamHostFunction, STUCK, 77, 0);
    session.post(Ops.memFree, piece);
    int tag = session.ask(Ops.memAlloc, PIECE, 1);

    session.post(Ops.callbackDone, 77);

    assertThat(session.reply(tag).result()).isZero();
  }

  private static Object[] freeOrFill(int i, long piece) {
    return i % 2 == 0 ? new Object[] {piece} : new Object[] {piece, 1, PIECE, STUCK};
  }

  /** Has a stream wait for the word to become 1. */
  private void standStill() {
    session.post(Ops.streamMemoryOperations, STUCK, operation(WAIT_32));
  }

  private void goOn() {
    session.post(Ops.streamMemoryOperations, FREE, operation(WRITE_32));
  }

  private byte[] operation(int kind) {
    ByteBuffer operation = ByteBuffer.allocate(48).order(ByteOrder.LITTLE_ENDIAN);
    return operation.putInt(0, kind).putLong(8, word).putLong(16, 1).array();
  }

  private long freeBytes() {
    return session.call(Ops.memGetInfo, 1, 1).u64(0);
  }
}
