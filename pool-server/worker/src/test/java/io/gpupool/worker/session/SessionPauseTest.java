// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker.session;

import static org.assertj.core.api.Assertions.assertThat;

import io.gpupool.cuda.AnswerKind;
import io.gpupool.cuda.CudaResult;
import io.gpupool.cuda.Ops;
import io.gpupool.soft.device.SoftGpu.MissingPtx;
import io.gpupool.soft.device.spec.DeviceSpec;
import io.gpupool.worker.seal.ProgramEnd;
import io.gpupool.worker.soft.SoftBackend;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Pauses that meet a session in a call that needs its program. */
@Timeout(120)
class SessionPauseTest {
  private static final int MEMORY_BYTES = 8 << 20;

  /** Together more than is kept for a program. */
  private static final int COPIES = 12;

  private static final int TAG = 100;
  private static final int STREAM = 30;
  private static final int CALLBACK = 77;

  private final SoftBackend backend =
      new SoftBackend(new DeviceSpec(1, 64L << 20, 90), MissingPtx.SKIP);
  private final Request request = new Request();
  private ResumingClient client = open(60_000);
  private boolean resumed;

  /** A pause, after which the session goes on where it was. */
  private static final class Request implements Pause {
    final CompletableFuture<String> outcome = new CompletableFuture<>();

    @Override
    public boolean paused(SessionState state, ResumePoint point) {
      state.release();
      outcome.complete("paused");
      return false;
    }

    @Override
    public void refused(String reason) {
      outcome.complete(reason);
    }
  }

  private ResumingClient open(long windowMillis) {
    ResumingClient opened = new ResumingClient(backend, windowMillis, ProgramEnd.Kind.CLEAR);
    assertThat(opened.next().kind()).isEqualTo(AnswerKind.WELCOME);
    return opened;
  }

  @AfterEach
  void close() {
    client.close();
    backend.close();
  }

  private long allocate() {
    client.ask(TAG - 2, Ops.ctxRetainPrimary, 0, 0);
    assertThat(client.reply(TAG - 2).result()).isZero();
    client.ask(TAG - 1, Ops.memAlloc, MEMORY_BYTES, 1);
    return client.reply(TAG - 1).u64(0);
  }

  /** Has the session copy more than it may keep for the program, which takes nothing. */
  private void copyWithoutTaking() {
    long address = allocate();
    for (int i = 0; i < COPIES; i++) {
      client.ask(TAG + i, Ops.memcpyDtoH, address, MEMORY_BYTES, 0);
    }
    while (client.hasUnsent()) {
      client.step(1 << 20, 0);
    }
  }

  private void pause() {
    Thread.ofPlatform()
        .daemon()
        .start(() -> client.session.transfer().pause(request, TimeUnit.SECONDS.toNanos(20)));
  }

  /** Receives the bytes of the copies. */
  private void take() {
    long bytes = 0;
    boolean answered = false;
    while (!answered || bytes < (long) COPIES * MEMORY_BYTES) {
      Answer answer = next();
      bytes += answer.kind() == AnswerKind.DATA ? answer.result() : 0;
      answered |= answer.kind() == AnswerKind.REPLY && answer.tag() == TAG + COPIES - 1;
    }
  }

  /** Reads the next answer. What is kept when the session pauses comes over a later connection. */
  private Answer next() {
    while (client.answers.isEmpty()) {
      boolean paused = !resumed && client.events.contains("disconnected");
      if (client.step(1 << 20, 1 << 20) == 0 && paused) {
        client.resume(true);
        resumed = true;
      }
    }
    return client.answers.remove();
  }

  private String outcome() throws Exception {
    return request.outcome.get(30, TimeUnit.SECONDS);
  }

  @Test
  void pause_duringCopiesWithMoreBytesThanAreKept_waitsForTheProgramToTakeThem() throws Exception {
    copyWithoutTaking();
    pause();
    // Over the connection that it has: there may be no other one before the pause ends.
    take();

    assertThat(outcome()).isEqualTo("paused");
    // Once, and resumed if some of the answers came over a later connection.
    assertThat(List.copyOf(client.events))
        .isIn(List.of("disconnected"), List.of("disconnected", "resumed"));
  }

  @Test
  void pause_whileTheProgramTakesNothing_isRefusedInTimeForItToGoOn() throws Exception {
    client.close();
    client = open(4000);
    copyWithoutTaking();
    pause();

    assertThat(outcome())
        .isEqualTo("a call takes too long, or the program does not take its results");
    take();
    assertThat(client.events).isEmpty();
  }

  @Test
  void pause_ofASessionThatWaitsForTheRestOfAFrame_dropsItsBeginning() throws Exception {
    client.ask(TAG, Ops.ctxRetainPrimary, 0, 0);
    client.step(9, 0);
    pause();

    assertThat(outcome()).isEqualTo("paused");
    client.resume(false);
    assertThat(client.reply(TAG).result()).isZero();
  }

  @Test
  void pause_ofASessionThatIsGivenMoreAndMore_comesBetweenTwoCalls() throws Exception {
    client.ask(TAG, Ops.ctxRetainPrimary, 0, 0);
    assertThat(client.reply(TAG).result()).isZero();
    pause();
    for (int tag = TAG + 1; !request.outcome.isDone(); tag++) {
      client.ask(tag, Ops.ctxSynchronize);
      client.step(1 << 20, 1 << 20);
    }

    assertThat(outcome()).isEqualTo("paused");
  }

  @Test
  void call_thatCameWhileAHostFunctionWasWaitedFor_isExecutedAfterTheRefusal() throws Exception {
    client.close();
    client = open(4000);
    client.ask(TAG, Ops.ctxRetainPrimary, 0, 0);
    assertThat(client.reply(TAG).result()).isZero();
    client.post(Ops.streamCreate, STREAM, 1, 0);
    client.post(Ops.streamHostFunction, STREAM, CALLBACK, 0);
    assertThat(client.next().kind()).isEqualTo(AnswerKind.CALLBACK);
    pause();
    TimeUnit.MILLISECONDS.sleep(200);
    // With the end of this call, the session's thread comes to know of the pause.
    client.ask(TAG + 1, Ops.streamQuery, STREAM);
    assertThat(client.reply(TAG + 1).result()).isEqualTo(CudaResult.NOT_READY);
    client.ask(TAG + 2, Ops.streamQuery, STREAM);
    while (!request.outcome.isDone()) {
      client.step(1 << 20, 0);
    }

    assertThat(outcome()).isEqualTo("a host function of the program takes too long");
    assertThat(client.reply(TAG + 2).result()).isEqualTo(CudaResult.NOT_READY);
    client.post(Ops.callbackDone, CALLBACK);
    client.ask(TAG + 3, Ops.streamSynchronize, STREAM);
    assertThat(client.reply(TAG + 3).result()).isZero();
  }
}
