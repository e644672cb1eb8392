// SPDX-License-Identifier: Apache-2.0
package io.gpupool.soft.kernel;

import static org.assertj.core.api.Assertions.assertThat;

import io.gpupool.soft.Dim3;
import io.gpupool.soft.exec.launch.Launch;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import org.junit.jupiter.api.Test;

/** Threads that are run together from wait to wait, go different ways, and come together again. */
class RegionKernelsTest {
  private static final String HEAD =
      """
      .version 8.0
      .target sm_80
      .address_size 64
      .visible .entry k(.param .u64 out, .param .u32 limit)
      {
        .shared .align 4 .b32 cells[1024];
        .reg .pred %p<8>;
        .reg .b32 %r<40>;
        .reg .b64 %rd<8>;
        ld.param.u64 %rd1, [out];
        ld.param.u32 %r1, [limit];
        mov.u32 %r2, %tid.x;
        mov.u32 %r3, %tid.y;
        mov.u32 %r4, %ntid.x;
        mad.lo.s32 %r5, %r3, %r4, %r2;
        shl.b32 %r6, %r5, 2;
        mov.u32 %r7, cells;
        add.s32 %r8, %r7, %r6;
        mul.wide.u32 %rd2, %r5, 4;
        add.s64 %rd3, %rd1, %rd2;
      """;

  private static int[] run(String body, Launch launch, int limit) throws Exception {
    try (TestGpu gpu = TestGpu.withPtx(HEAD + body + "\n}\n")) {
      int threads = launch.block().x() * launch.block().y();
      MemorySegment out = gpu.allocate(threads * 4L);

      gpu.run("k", launch, out, limit);

      return out.asSlice(0, threads * 4L).toArray(ValueLayout.JAVA_INT);
    }
  }

  private static void assertEach(int[] got, java.util.function.IntUnaryOperator expected) {
    for (int i = 0; i < got.length; i++) {
      assertThat(got[i]).as("thread %d", i).isEqualTo(expected.applyAsInt(i));
    }
  }

  @Test
  void loopWithBarriersOverVolatileMemory_ofManyThreads_addsUpWhatLiesBefore() throws Exception {
    // More threads than a loop may turn before a thread gives way.
    int[] got =
        run(
            """
              st.volatile.shared.u32 [%r8], %r5;
              mov.u32 %r9, 1;
            TURN:
              bar.sync 0;
              mov.u32 %r11, 0;
              setp.lt.u32 %p1, %r5, %r9;
              @%p1 bra FIRST;
              sub.u32 %r12, %r5, %r9;
              shl.b32 %r12, %r12, 2;
              add.u32 %r12, %r12, %r7;
              ld.volatile.shared.u32 %r11, [%r12];
            FIRST:
              ld.volatile.shared.u32 %r13, [%r8];
              add.u32 %r13, %r13, %r11;
              bar.sync 0;
              st.volatile.shared.u32 [%r8], %r13;
              shl.b32 %r9, %r9, 1;
              setp.lt.u32 %p2, %r9, %r1;
              @%p2 bra TURN;
              st.global.u32 [%rd3], %r13;
              ret;
            """,
            new Launch(new Dim3(1), new Dim3(96, 8), 0, false), 768);

    assertEach(got, i -> i * (i + 1) / 2);
  }

  @Test
  void lanesOfAWarp_meetAtOneBarrierFromDifferentWays_goOnTogether() throws Exception {
    // Odd threads come to the barrier by another way, whose barrier is another instruction.
    int[] got =
        run(
            """
              and.b32 %r9, %r5, 1;
              setp.eq.s32 %p1, %r9, 1;
              @%p1 bra ODD;
              st.shared.u32 [%r8], %r5;
              bar.sync 0;
              bra JOIN;
            ODD:
              add.s32 %r10, %r5, 1000;
              st.shared.u32 [%r8], %r10;
              bar.sync 0;
            JOIN:
              xor.b32 %r11, %r6, 4;
              add.s32 %r12, %r7, %r11;
              ld.shared.u32 %r13, [%r12];
              bar.sync 0;
              st.shared.u32 [%r8], %r13;
              bar.sync 0;
              ld.shared.u32 %r14, [%r8];
              st.global.u32 [%rd3], %r14;
              ret;
            """,
            TestGpu.blocks(1, 96), 0);

    assertEach(got, i -> (i ^ 1) % 2 == 1 ? (i ^ 1) + 1000 : i ^ 1);
  }

  @Test
  void threadsThatEndBeforeABarrier_areNotWaitedFor() throws Exception {
    int[] got =
        run(
            """
              setp.ge.u32 %p1, %r5, %r1;
              @%p1 bra DONE;
              st.shared.u32 [%r8], %r5;
              bar.sync 0;
              sub.s32 %r9, %r1, %r5;
              sub.s32 %r9, %r9, 1;
              shl.b32 %r9, %r9, 2;
              add.s32 %r10, %r7, %r9;
              ld.shared.u32 %r11, [%r10];
              st.global.u32 [%rd3], %r11;
            DONE:
              ret;
            """,
            TestGpu.grid(1, 1, 10, 10), 77);

    assertEach(got, i -> i < 77 ? 76 - i : 0);
  }

  @Test
  void shuffles_amongHalfWarpsWithMasksOfTheirOwn_stayInTheHalf() throws Exception {
    int[] got =
        run(
            """
              and.b32 %r9, %r5, 16;
              mov.u32 %r10, 65535;
              shl.b32 %r11, %r10, %r9;
              add.s32 %r12, %r5, 1;
              shfl.sync.idx.b32 %r13, %r12, 0, 4127, %r11;
              shfl.sync.down.b32 %r14, %r12, 1, 4127, %r11;
              mad.lo.s32 %r15, %r13, 1000, %r14;
              st.global.u32 [%rd3], %r15;
              ret;
            """,
            TestGpu.blocks(1, 64), 0);

    assertEach(got, i -> (i / 16 * 16 + 1) * 1000 + (i % 16 == 15 ? i + 1 : i + 2));
  }

  @Test
  void shuffleUnderDivergence_thenBarrier_warpsComeTogetherAgain() throws Exception {
    // Only lanes below 16 shuffle; then all wait, exchange through shared memory, and shuffle.
    int[] got =
        run(
            """
              mov.u32 %r9, %r5;
              and.b32 %r10, %r5, 31;
              setp.ge.u32 %p1, %r10, 16;
              @%p1 bra SKIP;
              shfl.sync.bfly.b32 %r9, %r5, 1, 31, 65535;
            SKIP:
              st.shared.u32 [%r8], %r9;
              bar.sync 0;
              ld.shared.u32 %r11, [%r8];
              shfl.sync.bfly.b32 %r12, %r11, 16, 31, -1;
              st.global.u32 [%rd3], %r12;
              ret;
            """,
            TestGpu.blocks(1, 128), 0);

    assertEach(
        got,
        i -> {
          int from = i ^ 16;
          return from % 32 < 16 ? from ^ 1 : from;
        });
  }

  @Test
  void loopWithABarrier_eachWarpAnotherNumberOfTurns_barrierNeedsOnlyTheLiving() throws Exception {
    // Warp w takes w + 1 turns and ends; the others' barriers go on without it.
    int[] got =
        run(
            """
              shr.u32 %r9, %r5, 5;
              mov.u32 %r10, 0;
              mov.u32 %r11, 0;
            TURN:
              bar.sync 0;
              add.s32 %r11, %r11, %r5;
              add.s32 %r10, %r10, 1;
              setp.le.u32 %p1, %r10, %r9;
              @%p1 bra TURN;
              st.global.u32 [%rd3], %r11;
              ret;
            """,
            TestGpu.blocks(1, 256), 0);

    assertEach(got, i -> (i / 32 + 1) * i);
  }

  @Test
  void reductionAtABarrier_countsAllThreads() throws Exception {
    int[] got =
        run(
            """
              and.b32 %r9, %r5, 3;
              setp.eq.s32 %p1, %r9, 0;
              barrier.red.popc.u32 %r10, 0, %p1;
              bar.sync 0;
              add.s32 %r11, %r10, %r5;
              st.global.u32 [%rd3], %r11;
              ret;
            """,
            TestGpu.grid(1, 1, 8, 12), 0);

    assertEach(got, i -> 24 + i);
  }

  @Test
  void twoBarriers_waitedForByHalvesOfTheBlock_areApart() throws Exception {
    int[] got =
        run(
            """
              shr.u32 %r9, %r5, 6;
              setp.eq.u32 %p1, %r9, 0;
              st.shared.u32 [%r8], %r5;
              @%p1 bra FIRST;
              bar.sync 2, 64;
              bra READ;
            FIRST:
              bar.sync 1, 64;
            READ:
              xor.b32 %r10, %r6, 252;
              add.s32 %r11, %r7, %r10;
              ld.shared.u32 %r12, [%r11];
              st.global.u32 [%rd3], %r12;
              ret;
            """,
            TestGpu.blocks(1, 128), 0);

    assertEach(got, i -> i ^ 63);
  }
}
