// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker.session;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.gpupool.cuda.CudaResult;
import io.gpupool.cuda.Ops;
import io.gpupool.cuda.OwnResult;
import io.gpupool.soft.device.SoftGpu.MissingPtx;
import io.gpupool.soft.device.spec.DeviceSpec;
import io.gpupool.worker.os.TestFiles;
import io.gpupool.worker.session.quota.LeasedGpu;
import io.gpupool.worker.session.quota.Ledger;
import io.gpupool.worker.soft.SoftBackend;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Small allocations, which the program places by itself where it has credit for them. */
@Timeout(120)
class SmallAllocationsTest {
  private static final long MIB = 1 << 20;
  private static final long QUOTA = 64 * MIB;
  private static final long STEP = 512;
  private static final int STUCK = 16;

  @TempDir Path folder;

  private final SoftBackend backend = backend();
  private final Ledger ledger = Ledger.alone(new long[] {QUOTA});
  private TestSession session;

  private record Credit(long address, long lengthBytes) {}

  @BeforeEach
  void openSession() {
    session = open(backend, ledger);
  }

  @AfterEach
  void closeSession() {
    session.close();
    backend.close();
  }

  private static SoftBackend backend() {
    return new SoftBackend(new DeviceSpec(2, 1L << 30, 90), MissingPtx.SKIP);
  }

  private static TestSession open(SoftBackend of, Ledger by) {
    TestSession opened = new TestSession(of, List.of(new LeasedGpu(0, QUOTA, 100)), by);
    opened.retainContext();
    return opened;
  }

  private static Credit credit(TestSession of, long wantedBytes) {
    Answer answer = of.call(Ops.memCredit, 0, wantedBytes, 1, 1);
    assertThat(answer.result()).isZero();
    return new Credit(answer.u64(0), answer.u64(8));
  }

  private Credit credit(long wantedBytes) {
    return credit(session, wantedBytes);
  }

  private void allocateAt(long address, long lengthBytes) {
    session.post(Ops.memAllocAt, 0, address, lengthBytes);
  }

  private void succeeds() {
    assertThat(session.call(Ops.ctxSynchronize).result()).isZero();
  }

  private long freeBytes() {
    return session.call(Ops.memGetInfo, 1, 1).u64(0);
  }

  @Test
  void allocations_oneAfterTheOther_areMemoryLikeAnyOther() {
    Credit credit = credit(MIB);
    allocateAt(credit.address, 1000);
    allocateAt(credit.address + 1024, 2);
    session.post(Ops.cuMemsetD8Async, credit.address, 7, 1000, 0);
    session.post(Ops.cuMemsetD8Async, credit.address + 1024, 8, 2, 0);

    assertThat(session.download(credit.address + 998, 2, 0)).containsExactly(7, 7);
    assertThat(session.download(credit.address + 1024, 2, 0)).containsExactly(8, 8);
    assertThat(freeBytes()).isEqualTo(QUOTA - 1024 - STEP);
    session.post(Ops.memFree, credit.address);
    succeeds();
    session.post(Ops.memFree, credit.address);
    assertThat(session.call(Ops.ctxSynchronize).result()).isEqualTo(CudaResult.INVALID_VALUE);
    assertThat(freeBytes()).isEqualTo(QUOTA - STEP);
  }

  @Test
  void memory_beyondAnAllocation_isUnreachableThoughThereIsCredit() {
    Credit credit = credit(MIB);
    allocateAt(credit.address, 512);
    session.post(Ops.cuMemsetD8Async, credit.address + 512, 7, 1, 0);

    assertThat(session.call(Ops.ctxSynchronize).result()).isEqualTo(CudaResult.INVALID_VALUE);
  }

  /** What a client sends that ignores its credit, of 1 MiB of which one allocation was made. */
  enum Hostile {
    OUTSIDE(MIB, STEP),
    BEFORE(-STEP, STEP),
    UNALIGNED(STEP + 1, STEP),
    LEAVING_A_GAP(2 * STEP, STEP),
    OVERLAPPING(0, STEP),
    TOO_LONG(STEP, MIB - STEP + 1),
    EMPTY(STEP, 0),
    NEGATIVE(STEP, Long.MIN_VALUE),
    LONGEST(STEP, Long.MAX_VALUE);

    final long offset;
    final long lengthBytes;

    Hostile(long offset, long lengthBytes) {
      this.offset = offset;
      this.lengthBytes = lengthBytes;
    }
  }

  @ParameterizedTest
  @EnumSource
  void hostileClient_thatIgnoresItsCredit_getsAnErrorAndNothingElse(Hostile hostile)
      throws Exception {
    Credit credit = credit(MIB);
    allocateAt(credit.address, STEP);
    succeeds();
    long used = ledger.sessionBytes(0);

    allocateAt(credit.address + hostile.offset, hostile.lengthBytes);

    assertThat(session.reason())
        .isEqualTo(
            "malformed frame: memAllocAt of 32 bytes: no credit for %s bytes at 0x%x of GPU 0",
            Long.toUnsignedString(hostile.lengthBytes), credit.address + hostile.offset);
    assertThat(ledger.sessionBytes(0)).isEqualTo(used);
  }

  @ParameterizedTest
  @ValueSource(ints = {0, 1, -1, Integer.MAX_VALUE})
  void hostileClient_withoutCreditOnTheGpu_getsAnErrorAndNothingElse(int gpu) throws Exception {
    session.post(Ops.memAllocAt, gpu, 0, STEP);

    assertThat(session.reason()).contains("no credit for 512 bytes at 0x0 of GPU " + gpu);
    assertThat(ledger.sessionBytes(0)).isZero();
  }

  @Test
  void hostileClient_thatSpendsFreedMemoryTwice_getsAnErrorAndNothingElse() throws Exception {
    Credit credit = credit(MIB);
    allocateAt(credit.address, MIB);
    session.post(Ops.memFree, credit.address);
    succeeds();
    allocateAt(credit.address, STEP);

    assertThat(session.reason()).contains("no credit");
    assertThat(ledger.sessionBytes(0)).isZero();
  }

  @Test
  void credit_askedForOfAnotherGpuOrWithNonsense_isNone() {
    assertThat(session.call(Ops.memCredit, 1, MIB, 1, 1).result())
        .isEqualTo(CudaResult.INVALID_CONTEXT);
    assertThat(credit(0).lengthBytes).isZero();
    assertThat(credit(-1).lengthBytes).isZero();
    assertThat(credit(511).lengthBytes).isZero();
    session.post(Ops.memCreditEnd, 1);
    assertThat(session.call(Ops.ctxSynchronize).result()).isEqualTo(CudaResult.INVALID_DEVICE);
    assertThat(ledger.sessionBytes(0)).isZero();
  }

  @Test
  void credit_granted_isCountedAndBoundedByWhatIsFree() {
    assertThat(credit(Long.MAX_VALUE).lengthBytes).isEqualTo(4 * MIB);
    assertThat(ledger.sessionBytes(0)).isEqualTo(4 * MIB);
    assertThat(freeBytes()).isEqualTo(QUOTA);

    assertThat(ledger.creditBytes(0)).isEqualTo(4 * MIB);
    session.post(Ops.memCreditEnd, 0);
    assertThat(freeBytes()).isEqualTo(QUOTA);
    assertThat(ledger.sessionBytes(0)).isZero();
    assertThat(ledger.creditBytes(0)).isZero();
  }

  @Test
  void credit_renewed_takesThePlaceOfTheRestBefore() {
    Credit first = credit(MIB);
    allocateAt(first.address, STEP);
    Credit second = credit(MIB);

    assertThat(second).isEqualTo(new Credit(first.address + STEP, MIB));
    assertThat(ledger.sessionBytes(0)).isEqualTo(STEP + MIB);
    assertThat(ledger.creditBytes(0)).isEqualTo(MIB);
  }

  @Test
  void fullLease_withUnusedCredit_asksForItAndHasItToTheLastByte() {
    Credit credit = credit(MIB);
    allocateAt(credit.address, STEP);

    assertThat(session.call(Ops.memAlloc, QUOTA - STEP, 1).result())
        .isEqualTo(OwnResult.CREDIT_WANTED);
    session.post(Ops.memCreditEnd, 0);
    assertThat(session.call(Ops.memAlloc, QUOTA - STEP + 1, 1).result())
        .isEqualTo(CudaResult.OUT_OF_MEMORY);
    session.allocate(QUOTA - STEP);
    assertThat(credit(MIB).lengthBytes).isZero();
    assertThat(session.call(Ops.memAlloc, 1, 1).result()).isEqualTo(CudaResult.OUT_OF_MEMORY);
  }

  @Test
  void quota_filledWithSmallAllocations_isExact() {
    List<Long> made = new ArrayList<>();
    for (Credit credit = credit(MIB); credit.lengthBytes > 0; credit = credit(MIB)) {
      for (long at = 0; at < credit.lengthBytes; at += STEP) {
        allocateAt(credit.address + at, 1);
        made.add(credit.address + at);
      }
      assertThat(freeBytes()).isEqualTo(QUOTA - made.size() * STEP);
    }
    assertThat(made).hasSizeGreaterThan(100_000).doesNotHaveDuplicates();
    while (freeBytes() > 0) {
      made.add(session.allocate(STEP));
    }
    assertThat(made).hasSize((int) (QUOTA / STEP)).doesNotHaveDuplicates();
    assertThat(session.call(Ops.memAlloc, 1, 1).result()).isEqualTo(CudaResult.OUT_OF_MEMORY);
    made.forEach(address -> session.post(Ops.memFree, address));
    succeeds();
    session.allocate(QUOTA);
  }

  @Test
  void otherSessions_ofTheLease_leaveLittleCreditAndNoneNearTheQuota() throws IOException {
    Path file = Files.write(folder.resolve("ledger"), new byte[(int) Ledger.sizeBytes(1)]);
    Ledger shared = Ledger.open(TestFiles.open(file), 0, new long[] {QUOTA});
    Ledger others = Ledger.open(TestFiles.open(file), 1, new long[] {QUOTA});
    try (SoftBackend first = backend();
        TestSession one = open(first, shared);
        SoftBackend second = backend();
        TestSession other = open(second, others)) {
      assertThat(credit(one, 16 * MIB).lengthBytes).isEqualTo(4 * MIB);
      other.allocate(STEP);
      assertThat(credit(one, 16 * MIB).lengthBytes).isEqualTo(2 * MIB);
      assertThat(other.call(Ops.memGetInfo, 1, 1).u64(0)).isEqualTo(QUOTA - STEP);

      assertThat(other.call(Ops.memAlloc, 63 * MIB, 1).result())
          .isEqualTo(CudaResult.OUT_OF_MEMORY);
      other.allocate(48 * MIB);
      assertThat(credit(other, MIB).lengthBytes).isZero();
      assertThat(credit(one, MIB).lengthBytes).isZero();
      one.allocate(16 * MIB - STEP);
      assertThat(shared.freeBytes(0)).isZero();
    }
  }

  @Test
  void context_reset_takesItsAllocationsAndLeavesTheCredit() {
    Credit credit = credit(MIB);
    allocateAt(credit.address, 4096);
    assertThat(session.call(Ops.ctxResetPrimary, 0).result()).isZero();
    allocateAt(credit.address + 4096, 4096);

    succeeds();
    assertThat(freeBytes()).isEqualTo(QUOTA - 4096);
  }

  @Test
  void allocation_withoutAContext_isPaidForAndNotMade() {
    Credit credit = credit(MIB);
    session.post(Ops.ctxReleasePrimary, 0);
    allocateAt(credit.address, 4096);
    session.retainContext();
    allocateAt(credit.address + 4096, 4096);

    succeeds();
    assertThat(freeBytes()).isEqualTo(QUOTA - 4096);
    session.post(Ops.memFree, credit.address);
    assertThat(session.call(Ops.ctxSynchronize).result()).isEqualTo(CudaResult.INVALID_VALUE);
  }

  @Test
  void freed_behindAHostFunction_isNotGrantedBeforeItIsGone() {
    session.post(Ops.streamCreate, STUCK, 1, 0);
    Credit credit = credit(MIB);
    allocateAt(credit.address, MIB);
    session.post(Ops.streamHostFunction, STUCK, 77, 0);
    session.post(Ops.memFree, credit.address);

    assertThat(credit(MIB)).isEqualTo(new Credit(credit.address + MIB, MIB));
    assertThat(ledger.sessionBytes(0)).isEqualTo(2 * MIB);

    session.post(Ops.callbackDone, 77);
    succeeds();
    await().until(() -> ledger.sessionBytes(0) == MIB);
    assertThat(credit(MIB).address).isEqualTo(credit.address);
  }
}
