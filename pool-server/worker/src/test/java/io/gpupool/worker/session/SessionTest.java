// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker.session;

import static org.assertj.core.api.Assertions.assertThat;

import io.gpupool.cuda.AnswerKind;
import io.gpupool.cuda.Ops;
import io.gpupool.worker.session.core.Staging;
import io.gpupool.worker.session.quota.LeasedGpu;
import io.gpupool.worker.session.stream.HostCallbacks;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** A session's calls on the test driver. */
@Timeout(60)
class SessionTest extends SessionOnTestDriver {
  private static final String IMAGE =
      "testcuda\n" + "kernel fill 8 4 4\n" + "kernel sleep 8\n" + "kernel fault\n";
  private static final int FILL = 20;
  private static final int SLEEP = 21;
  private static final int FAULT = 22;
  private static final int STREAM = 30;
  private static final int OTHER_STREAM = 31;
  private static final int EVENT = 40;
  private static final int NON_BLOCKING = 1;

  private void loadKernels() {
    assertThat(session.load(IMAGE).result()).isZero();
    session.post(Ops.moduleBindFunction, 16, FILL, "fill");
    session.post(Ops.moduleBindFunction, 16, SLEEP, "sleep");
    session.post(Ops.moduleBindFunction, 16, FAULT, "fault");
    session.post(Ops.streamCreate, STREAM, NON_BLOCKING, 0);
    session.post(Ops.streamCreate, OTHER_STREAM, NON_BLOCKING, 0);
    session.post(Ops.eventCreate, EVENT, 2);
  }

  private void launch(int function, int stream, Object... parameters) {
    session.send(
        Request.simpleLaunch(Ops.launch, TestSession.CONTEXT, function, stream, parameters));
  }

  private static byte[] ints(int value, int count) {
    ByteBuffer buffer = ByteBuffer.allocate(4 * count).order(ByteOrder.LITTLE_ENDIAN);
    for (int i = 0; i < count; i++) {
      buffer.putInt(value);
    }
    return buffer.array();
  }

  @Test
  void copies_ofAllLengths_comeBackAsTheyWere() {
    Random random = new Random(7);
    for (int length : new int[] {1, 7, 4096, 65_536, 65_537, 1 << 20, (3 << 20) + 5}) {
      byte[] bytes = new byte[length];
      random.nextBytes(bytes);
      long address = session.allocate(length);
      for (int at = 0; at < length; at += 1 << 20) {
        byte[] piece = Arrays.copyOfRange(bytes, at, Math.min(length, at + (1 << 20)));
        session.post(Ops.memcpyHtoD, address + at, 0, piece);
      }

      assertThat(session.download(address, length, 0)).isEqualTo(bytes);
      session.post(Ops.memFree, address);
    }
    assertThat(session.call(Ops.memGetInfo, 1, 1).u64(0)).isEqualTo(TestSession.QUOTA_BYTES);
    assertThat(session.ledger.sessionBytes(0)).isZero();
  }

  @Test
  void launch_withPackedParameters_computes() {
    loadKernels();
    long address = session.allocate(4096);

    launch(FILL, STREAM, address, 1024, 77);

    assertThat(session.download(address, 4096, STREAM)).isEqualTo(ints(77, 1024));
  }

  @Test
  void launch_cooperative_goesThroughAttributes() {
    loadKernels();
    int[] tooLarge = {65, 1, 1, 32, 1, 1};
    session.send(Request.launch(Ops.launch, 1, SLEEP, STREAM, tooLarge, 1, 0L));

    assertThat(session.call(Ops.streamSynchronize, STREAM).result()).isEqualTo(720);
  }

  @Test
  void synchronize_busyStream_doesNotHoldUpOtherCalls() {
    loadKernels();
    launch(SLEEP, STREAM, 1_000_000L);
    int synchronize = session.ask(Ops.streamSynchronize, STREAM);
    int query = session.ask(Ops.streamQuery, STREAM);
    int info = session.ask(Ops.memGetInfo, 1, 1);

    assertThat(session.read().tag()).isEqualTo(query);
    assertThat(session.read().tag()).isEqualTo(info);
    assertThat(session.read())
        .extracting(Answer::tag, Answer::result)
        .containsExactly(synchronize, 0);
  }

  @Test
  void synchronize_byManyCallersOnManyStreams_answersEachInItsTime() {
    loadKernels();
    launch(SLEEP, STREAM, 1_000_000L);
    launch(SLEEP, OTHER_STREAM, 20_000L);
    int slow = session.ask(Ops.streamSynchronize, STREAM);
    int fast = session.ask(Ops.streamSynchronize, OTHER_STREAM);

    assertThat(session.read().tag()).isEqualTo(fast);
    assertThat(session.read().tag()).isEqualTo(slow);
  }

  @Test
  void ctxSynchronize_waitsForAllStreams() {
    loadKernels();
    long address = session.allocate(64);
    launch(SLEEP, STREAM, 100_000L);
    launch(SLEEP, OTHER_STREAM, 50_000L);
    launch(FILL, STREAM, address, 16, 5);
    launch(FILL, OTHER_STREAM, address + 32, 8, 6);

    assertThat(session.call(Ops.ctxSynchronize).result()).isZero();
    assertThat(session.call(Ops.streamQuery, STREAM).result()).isZero();
    assertThat(session.call(Ops.streamQuery, OTHER_STREAM).result()).isZero();
  }

  @Test
  void eventSynchronize_waitsForWhereTheEventWasNotWhereItIs() {
    loadKernels();
    launch(SLEEP, STREAM, 50_000L);
    session.post(Ops.eventRecord, EVENT, STREAM, 0);
    int synchronize = session.ask(Ops.eventSynchronize, EVENT);
    launch(SLEEP, STREAM, 1_500_000L);
    session.post(Ops.eventRecord, EVENT, STREAM, 0);

    assertThat(session.reply(synchronize).result()).isZero();
    assertThat(session.call(Ops.eventQuery, EVENT).result()).isEqualTo(600);
  }

  @Test
  void eventSynchronize_destroyedMeanwhile_isAnswered() {
    loadKernels();
    launch(SLEEP, STREAM, 50_000L);
    session.post(Ops.eventRecord, EVENT, STREAM, 0);
    int synchronize = session.ask(Ops.eventSynchronize, EVENT);
    session.post(Ops.eventDestroy, EVENT);

    assertThat(session.reply(synchronize).result()).isZero();
  }

  @Test
  void eventElapsedTime_isPassedOn() {
    loadKernels();
    session.post(Ops.eventCreate, 41, 0);
    session.post(Ops.eventRecord, EVENT, STREAM, 0);
    launch(SLEEP, STREAM, 20_000L);
    session.post(Ops.eventRecord, 41, STREAM, 0);
    session.call(Ops.eventSynchronize, 41);

    Answer answer = session.call(Ops.cuEventElapsedTime, 1, EVENT, 41);

    assertThat(Float.intBitsToFloat(answer.i32(0))).isGreaterThanOrEqualTo(20f);
  }

  @Test
  void streamWaitEvent_ordersStreams() {
    loadKernels();
    long address = session.allocate(64);
    launch(SLEEP, STREAM, 50_000L);
    launch(FILL, STREAM, address, 16, 1);
    session.post(Ops.eventRecord, EVENT, STREAM, 0);
    session.post(Ops.streamWaitEvent, OTHER_STREAM, EVENT, 0);
    launch(FILL, OTHER_STREAM, address, 16, 2);

    assertThat(session.download(address, 64, OTHER_STREAM)).isEqualTo(ints(2, 16));
  }

  @Test
  void download_behindWork_seesItAndNothingLater() {
    loadKernels();
    long address = session.allocate(64);
    launch(SLEEP, STREAM, 50_000L);
    launch(FILL, STREAM, address, 16, 1);
    session.post(Ops.memcpyDtoHPosted, 500, address, 64, STREAM);
    launch(FILL, STREAM, address, 16, 2);
    int synchronize = session.ask(Ops.streamSynchronize, STREAM);

    Answer data = session.read();
    assertThat(data.kind()).isEqualTo(AnswerKind.DATA);
    assertThat(data.data()).isEqualTo(ints(1, 16));
    assertThat(session.read()).extracting(Answer::tag, Answer::result).containsExactly(500, 0);
    assertThat(session.read().tag()).isEqualTo(synchronize);
    assertThat(session.download(address, 64, STREAM)).isEqualTo(ints(2, 16));
  }

  @Test
  void postedDownloads_beforeManyFences_alwaysComeFirst() {
    loadKernels();
    long address = session.allocate(1 << 20);
    int fence = 0;
    for (int round = 0; round < 500; round++) {
      launch(FILL, STREAM, address, 16, round);
      session.post(Ops.memcpyDtoHPosted, 100_000 + round, address, 64, STREAM);
      session.post(Ops.eventRecord, EVENT, STREAM, 0);
      fence =
          switch (round % 3) {
            case 0 -> session.ask(Ops.streamSynchronize, STREAM);
            case 1 -> session.ask(Ops.eventSynchronize, EVENT);
            default -> session.ask(Ops.ctxSynchronize);
          };
      boolean copied = false;
      while (true) {
        Answer answer = session.read();
        if (answer.kind() == AnswerKind.DATA) {
          assertThat(answer.data()).isEqualTo(ints(round, 16));
        } else if (answer.tag() == 100_000 + round) {
          copied = true;
        } else if (answer.tag() == fence) {
          break;
        }
      }
      assertThat(copied).as("copy before its fence, round %d", round).isTrue();
    }
  }

  @Test
  void postedDownload_longerThanAllStaging_isCapturedInOrder() {
    session.close();
    long length = Staging.MAX_BYTES + (16 << 20);
    openSession(List.of(new LeasedGpu(0, 2 * length, 100)));
    loadKernels();
    long address = session.allocate(length);
    launch(FILL, STREAM, address, (int) (length / 4), 3);
    session.post(Ops.memcpyDtoHPosted, 600, address, length, STREAM);
    launch(FILL, STREAM, address, (int) (length / 4), 4);

    long received = 0;
    while (true) {
      Answer answer = session.read();
      if (answer.kind() != AnswerKind.DATA) {
        assertThat(answer).extracting(Answer::tag, Answer::result).containsExactly(600, 0);
        break;
      }
      assertThat(answer.u64(0)).isEqualTo(received);
      assertThat(answer.data()[0]).isEqualTo((byte) 3);
      assertThat(answer.data()[answer.result() - 4]).isEqualTo((byte) 3);
      received += answer.result();
    }
    assertThat(received).isEqualTo(length);

    // All staging is in large blocks now, which a small copy has to do with.
    session.post(Ops.memcpyDtoHPosted, 601, address, 64, STREAM);
    assertThat(session.read())
        .extracting(Answer::kind, Answer::result)
        .containsExactly(AnswerKind.DATA, 64);
    assertThat(session.read()).extracting(Answer::tag, Answer::result).containsExactly(601, 0);
  }

  @Test
  void hostFunction_runsInStreamOrder_afterCopiesBeforeIt() {
    loadKernels();
    long address = session.allocate(64);
    launch(FILL, STREAM, address, 16, 9);
    session.post(Ops.memcpyDtoHPosted, 700, address, 64, STREAM);
    session.post(Ops.streamHostFunction, STREAM, 1, 0);
    launch(FILL, STREAM, address, 16, 10);
    int synchronize = session.ask(Ops.streamSynchronize, STREAM);

    List<Integer> kinds = new ArrayList<>();
    Answer answer;
    do {
      answer = session.read();
      kinds.add(answer.kind());
    } while (answer.kind() != AnswerKind.CALLBACK);
    assertThat(kinds).containsExactly(AnswerKind.DATA, AnswerKind.REPLY, AnswerKind.CALLBACK);
    assertThat(answer.tag()).isEqualTo(1);
    assertThat(session.call(Ops.streamQuery, STREAM).result()).isEqualTo(600);
    session.post(Ops.callbackDone, 1);

    assertThat(session.reply(synchronize).result()).isZero();
    assertThat(session.download(address, 64, STREAM)).isEqualTo(ints(10, 16));
  }

  @Test
  void uploads_behindAHostFunction_doNotHangTheSession() {
    loadKernels();
    long address = session.allocate(1 << 20);
    session.post(Ops.streamHostFunction, STREAM, 1, 0);
    assertThat(session.read().kind()).isEqualTo(AnswerKind.CALLBACK);
    for (int i = 0; i < 100; i++) {
      session.post(Ops.memcpyHtoD, address, STREAM, new byte[1 << 20]);
    }
    session.post(Ops.callbackDone, 1);

    assertThat(session.call(Ops.streamSynchronize, STREAM).result()).isZero();
  }

  @Test
  void memFree_waitingForAHostFunction_letsItsEndBeRead() {
    loadKernels();
    long address = session.allocate(1 << 20);
    // The driver waits for all streams before it frees, and this one waits for the client.
    session.post(Ops.streamHostFunction, STREAM, 1, 0);
    session.post(Ops.memFree, address);
    int alloc = session.ask(Ops.memAlloc, 64, 1);
    launch(SLEEP, STREAM, 10L);
    assertThat(session.read().kind()).isEqualTo(AnswerKind.CALLBACK);
    launch(SLEEP, STREAM, 10L);
    session.post(Ops.callbackDone, 1);

    assertThat(session.reply(alloc).result()).isZero();
    assertThat(session.call(Ops.ctxSynchronize).result()).isZero();
    assertThat(session.ledger.sessionBytes(0)).isEqualTo(512);
    assertThat(session.counters().lastError()).isEmpty();
  }

  @Test
  void ctxDestroy_waitingForAHostFunctionOfAnotherContext_letsItsEndBeRead() {
    loadKernels();
    long address = session.allocate(64);
    session.send(Request.fenced(Ops.ctxCreate, 2, 90, 0, 0));
    assertThat(session.reply(90).result()).isZero();
    session.post(Ops.eventCreate, 70, 0);
    session.post(Ops.streamHostFunction, STREAM, 1, 0);
    session.post(Ops.eventRecord, 70, STREAM, 0);
    session.send(Request.posted(Ops.streamCreate, 2, 200, 1, 0));
    session.send(Request.posted(Ops.streamWaitEvent, 2, 200, 70, 0));
    session.send(Request.posted(Ops.memcpyDtoHPosted, 2, 700, address, 64, 200));
    session.send(Request.posted(Ops.ctxDestroy, 2));
    int synchronize = session.ask(Ops.ctxSynchronize);

    assertThat(session.read().kind()).isEqualTo(AnswerKind.CALLBACK);
    session.post(Ops.callbackDone, 1);

    Answer answer;
    do {
      answer = session.read();
    } while (answer.tag() == 700);
    assertThat(answer)
        .extracting(Answer::kind, Answer::tag, Answer::result)
        .containsExactly(AnswerKind.REPLY, synchronize, 0);
  }

  @Test
  void connectionClosed_whileTheDriverWaitsForAHostFunction_endsTheSession() throws Exception {
    loadKernels();
    long address = session.allocate(1 << 20);
    session.post(Ops.streamHostFunction, STREAM, 1, 0);
    session.post(Ops.memFree, address);
    assertThat(session.read().kind()).isEqualTo(AnswerKind.CALLBACK);
    session.disconnect();

    assertThat(session.reason()).startsWith("connection");
  }

  @Test
  void streamCallback_getsTheFaultAsStatus() {
    loadKernels();
    launch(SLEEP, STREAM, 1_000_000L);
    launch(FAULT, STREAM);
    session.post(Ops.streamHostFunction, STREAM, 3, HostCallbacks.KIND_STREAM_CALLBACK);

    Answer answer = session.read();

    assertThat(answer)
        .extracting(Answer::kind, Answer::tag, Answer::result)
        .containsExactly(AnswerKind.CALLBACK, 3, 700);
    session.post(Ops.callbackDone, 3);
  }

  @Test
  void postedError_isReturnedByTheNextFencedCallOnce() {
    loadKernels();
    session.post(Ops.functionSetAttribute, FILL, 8, -5);
    session.post(Ops.eventRecord, 12345, STREAM, 0);

    assertThat(session.call(Ops.memGetInfo, 1, 1).result()).isEqualTo(1);
    assertThat(session.call(Ops.memGetInfo, 1, 1).result()).isZero();
    assertThat(session.counters().lastError()).isEqualTo("eventRecord: 400");
  }

  @Test
  void postedError_inOneContext_isNotReturnedInAnother() {
    session.send(Request.fenced(Ops.ctxCreate, 2, 90, 0, 0));
    assertThat(session.reply(90).result()).isZero();
    session.send(Request.posted(Ops.streamDestroy, 2, 999));
    session.send(Request.fenced(Ops.memGetInfo, 1, 91, 1, 1));
    session.send(Request.fenced(Ops.memGetInfo, 2, 92, 1, 1));

    assertThat(session.reply(91).result()).isZero();
    assertThat(session.reply(92).result()).isEqualTo(400);
  }

  @Test
  void fault_isStickyUntilTheContextIsReset() {
    loadKernels();
    launch(FAULT, STREAM);

    assertThat(session.call(Ops.streamSynchronize, STREAM).result()).isEqualTo(700);
    assertThat(session.call(Ops.memGetInfo, 1, 1).result()).isEqualTo(700);
    assertThat(session.call(Ops.memAlloc, 64, 1).result()).isEqualTo(700);
    assertThat(session.call(Ops.ctxResetPrimary, 0).result()).isZero();
    assertThat(session.call(Ops.memGetInfo, 1, 1).result()).isZero();
    session.post(Ops.ctxReleasePrimary, 0);
    assertThat(session.call(Ops.memGetInfo, 1, 1).result()).isEqualTo(201);
  }

  @Test
  void unknownOp_isAPostedErrorAndNoMore() {
    session.send(Request.posted(60_000, 1, 1, 2, 3));

    assertThat(session.call(Ops.memGetInfo, 1, 1).result()).isEqualTo(801);
    assertThat(session.call(Ops.memGetInfo, 1, 1).result()).isZero();
  }

  @Test
  void contextEnds_whatWasInItIsForgotten() {
    loadKernels();
    session.allocate(1000);
    launch(SLEEP, STREAM, 50_000L);
    int synchronize = session.ask(Ops.streamSynchronize, STREAM);
    session.post(Ops.ctxReleasePrimary, 0);
    session.send(Request.fenced(Ops.ctxRetainPrimary, 2, 95, 0, 0));

    assertThat(session.reply(synchronize).result()).isZero();
    assertThat(session.reply(95).result()).isZero();
    assertThat(session.ledger.sessionBytes(0)).isZero();
    session.send(Request.fenced(Ops.streamSynchronize, 2, 96, STREAM));
    assertThat(session.reply(96).result()).isEqualTo(400);
    session.send(Request.fenced(Ops.memGetInfo, 1, 97, 1, 1));
    assertThat(session.reply(97).result()).isEqualTo(201);
  }

  @Test
  void goodbye_endsTheSession() throws Exception {
    session.post(Ops.goodbye);

    assertThat(session.reason()).isEqualTo("goodbye");
    assertThat(session.readOrEnd()).isNull();
  }

  @Test
  void connectionClosed_withWorkUnderWay_endsTheSession() throws Exception {
    loadKernels();
    launch(SLEEP, STREAM, 100_000L);
    session.ask(Ops.streamSynchronize, STREAM);
    session.disconnect();

    assertThat(session.reason()).startsWith("connection");
  }

  @Test
  void malformedFrame_endsTheSessionWithTheReason() throws Exception {
    session.send(Request.posted(Ops.ctxSynchronize, 1));

    Answer answer = session.read();
    assertThat(answer.kind()).isEqualTo(AnswerKind.FATAL);
    assertThat(answer.text()).isEqualTo("malformed frame: ctxSynchronize of 8 bytes");
    assertThat(session.reason()).isEqualTo(answer.text());
  }
}
