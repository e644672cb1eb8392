// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker;

import static org.assertj.core.api.Assertions.assertThat;

import io.gpupool.cuda.Ops;
import io.gpupool.wire.TextMessage;
import io.gpupool.worker.os.Posix;
import java.nio.charset.StandardCharsets;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;

/** Sessions that move from one worker to another, of two processes. */
class WorkerMoveTest extends WorkerMoveFixture {
  private static final int MODULE = 16;
  private static final int STORE = 17;
  private static final int STREAM = 18;
  private static final int START = 19;
  private static final int END = 20;

  /** Adds one to a counter of the module's, and stores the sum. */
  private static final String PTX =
      """
      .version 7.0
      .target sm_75
      .address_size 64
      .global .align 4 .u32 counter = 41;
      .visible .entry store(.param .u64 p) {
        .reg .b32 %r<4>;
        .reg .b64 %rd<5>;
        ld.param.u64 %rd1, [p];
        cvta.to.global.u64 %rd2, %rd1;
        ld.global.u32 %r1, [counter];
        add.u32 %r1, %r1, 1;
        st.global.u32 [counter], %r1;
        st.global.u32 [%rd2], %r1;
        ret;
      }
      """;

  /** Starts a session with a program that has something of all kinds; returns its memory. */
  private long startProgram() throws Throwable {
    startBoth(Map.of(), 1 << 20, "--gpus", "soft:2,mem=64Mi");
    frames.fenced(Ops.ctxRetainPrimary, 9, 0, 0);
    call();
    frames.posted(Ops.imageBegin, 1, PTX.length() + 1);
    frames.postedText(Ops.imageData, PTX + "\0", 1);
    frames.fenced(Ops.moduleLoad, 1, MODULE, 1, -1, 0, 0, 0);
    frames.posted(Ops.imageDrop, 1);
    frames.postedText(Ops.moduleBindFunction, "store", MODULE, STORE);
    frames.posted(Ops.streamCreate, STREAM, 0, 0);
    frames.posted(Ops.eventCreate, START, 0);
    frames.posted(Ops.eventCreate, END, 0);
    frames.posted(Ops.eventRecord, START, STREAM, 0);
    frames.fenced(Ops.memAlloc, 9, 300_000, 1);
    final long gone = number(call());
    frames.fenced(Ops.memAlloc, 9, 100_000, 1);
    long kept = number(call());
    frames.posted(Ops.memFree, gone);
    frames.launch(Ops.launch, STORE, kept);
    frames.postedText(Ops.memcpyHtoD, "the middle", kept + 70_000, 0);
    frames.posted(Ops.eventRecord, END, STREAM, 0);
    frames.fenced(Ops.ctxSynchronize, 9);
    call();
    return kept;
  }

  private byte[] elapsed() {
    frames.fenced(Ops.cuEventElapsedTime_v2, 9, 1, START, END);
    return call();
  }

  private void requireSameMemory(long kept) {
    frames.fenced(Ops.memcpyDtoH, 8, kept + 70_000, 10, 0);
    assertThat(new String(call(), StandardCharsets.UTF_8)).isEqualTo("the middle");
    frames.launch(Ops.launch, STORE, kept);
    frames.fenced(Ops.memcpyDtoH, 8, kept, 8, 0);
    assertThat((int) number(call())).isEqualTo(43);
  }

  @Test
  void session_thatMoves_hasTheSameMemoryModulesAndEventsUnderTheSameNumbers() throws Throwable {
    final long kept = startProgram();
    final byte[] elapsed = elapsed();
    assignTarget(16 << 20);
    connectWorkers();
    assertThat(next(fromTarget, "restored").get("session")).contains("s1");
    targetServerKnows();
    TextMessage moved = next(fromSource, "moved");
    assertThat(moved.get("move")).contains("m1");
    assertThat(Long.parseLong(moved.require("bytes"))).isGreaterThan(100_000);
    decide(1);
    assertThat(worker.waitFor(20, TimeUnit.SECONDS)).isTrue();
    assertThat(worker.exitValue()).isZero();

    resume(targetControl(), Objects.requireNonNull(targetSocket));
    assertThat(elapsed()).isEqualTo(elapsed);
    requireSameMemory(kept);
  }

  @Test
  void session_whoseRestorationTakesLongerThanItsWindow_hasAllOfTheWindowAfterwards()
      throws Throwable {
    final long kept = startProgram();
    assignTarget(16 << 20, "8000");
    connectWorkers();
    next(fromTarget, "restored");
    Thread.sleep(10_000);
    targetServerKnows();
    next(fromSource, "moved");
    decide(1);
    targetServerKnows();

    resume(targetControl(), Objects.requireNonNull(targetSocket));
    requireSameMemory(kept);
  }

  @Test
  void session_thatStays_goesOnWhereItWas() throws Throwable {
    final long kept = startProgram();
    assignTarget(16 << 20);
    connectWorkers();
    next(fromTarget, "restored");
    targetServerKnows();
    next(fromSource, "moved");
    decide(0);

    resume(control, socket());
    requireSameMemory(kept);
  }

  @Test
  void session_thatHasNoRoomAtTheTarget_goesOnWhereItWas() throws Throwable {
    final long kept = startProgram();
    assignTarget(1000);
    connectWorkers();
    assertThat(next(fromSource, "moveFailed").get("reason"))
        .contains("memAlloc cannot be made again: CUDA error 2");
    assertThat(next(fromTarget, "ended").require("reason")).contains("memAlloc");

    resume(control, socket());
    requireSameMemory(kept);
  }

  @Test
  void session_whoseTargetDies_goesOnWhereItWas() throws Throwable {
    final long kept = startProgram();
    assignTarget(16 << 20);
    Objects.requireNonNull(target).destroyForcibly().waitFor();
    int[] pair = Posix.socketPair();
    begin("m1", pair[0]);
    Posix.close(pair[1]);
    assertThat(next(fromSource, "moveFailed").require("reason")).contains("connection");

    requireSameMemory(kept);
  }

  /** A lease does not move to where the next process of the server would not find its session. */
  @Test
  void session_whoseTargetsServerDiesBeforeItKnows_goesOnWhereItWas() throws Throwable {
    final long kept = startProgram();
    assignTarget(16 << 20);
    connectWorkers();
    next(fromTarget, "restored");
    Objects.requireNonNull(targetSocket).close();
    assertThat(next(fromSource, "moveFailed").require("reason")).contains("closed the connection");
    assertThat(Objects.requireNonNull(target).waitFor(20, TimeUnit.SECONDS)).isTrue();

    resume(control, socket());
    requireSameMemory(kept);
  }

  /** The end of a move that was given up comes when the next one has begun. */
  @Test
  void session_whoseFormerMoveEndsLate_leavesWithTheNextOne() throws Throwable {
    final long kept = startProgram();
    assignTarget(16 << 20);
    for (int i = 0; i < 20; i++) {
      int[] pair = Posix.socketPair();
      begin("given up " + i, pair[0]);
      decide("given up " + i, 0);
      Posix.close(pair[1]);
    }
    connectWorkers("m2");
    next(fromTarget, "restored");
    targetServerKnows();
    TextMessage said = fromSource.poll(30, TimeUnit.SECONDS);
    while (said != null && !said.type().equals("moved")) {
      said = fromSource.poll(30, TimeUnit.SECONDS);
    }
    assertThat(Objects.requireNonNull(said).get("move")).contains("m2");
    decide("m2", 1);
    assertThat(worker.waitFor(20, TimeUnit.SECONDS)).isTrue();

    resume(targetControl(), Objects.requireNonNull(targetSocket));
    requireSameMemory(kept);
  }

  @Test
  void session_withLinkedCodeUnderWay_isRefusedWithTheReason() throws Throwable {
    final long kept = startProgram();
    frames.fenced(Ops.linkCreate, 9, 1, -1, 0, 0);
    call();
    assignTarget(16 << 20);
    connectWorkers();
    assertThat(next(fromSource, "moveFailed").get("reason"))
        .contains("it has code that is being linked, which cannot move");

    resume(control, socket());
    requireSameMemory(kept);
  }
}
