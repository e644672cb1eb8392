// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker.session;

import static org.assertj.core.api.Assertions.assertThat;

import io.gpupool.cuda.AnswerKind;
import io.gpupool.cuda.Backend;
import io.gpupool.cuda.Ops;
import io.gpupool.cuda.ResumeLimits;
import io.gpupool.soft.device.SoftGpu.MissingPtx;
import io.gpupool.soft.device.spec.DeviceSpec;
import io.gpupool.worker.os.Posix;
import io.gpupool.worker.seal.ProgramEnd;
import io.gpupool.worker.soft.SoftBackend;
import java.util.Arrays;
import java.util.HashSet;
import java.util.Set;
import java.util.SplittableRandom;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Sessions that outlive their connections. */
@Timeout(120)
class ResumedSessionTest {
  private static final long WINDOW_MILLIS = 60_000;
  private static final int MEMORY_BYTES = 8 << 20;
  private static final int PIECE_BYTES = 1 << 20;
  private static final int FIRST_TAG = 100;
  private static final int STREAM = 30;

  private final Backend backend = backend();
  private ResumingClient client = open(WINDOW_MILLIS);
  private int lastTag = FIRST_TAG;

  Backend backend() {
    return new SoftBackend(new DeviceSpec(1, 64L << 20, 90), MissingPtx.SKIP);
  }

  ProgramEnd.Kind kind() {
    return ProgramEnd.Kind.CLEAR;
  }

  void close(Backend used) {
    ((SoftBackend) used).close();
  }

  private ResumingClient open(long windowMillis) {
    ResumingClient opened = new ResumingClient(backend, windowMillis, kind());
    assertThat(opened.next().kind()).isEqualTo(AnswerKind.WELCOME);
    return opened;
  }

  private void reopen(long windowMillis) {
    client.close();
    client = open(windowMillis);
  }

  @AfterEach
  void close() {
    client.close();
    close(backend);
  }

  private Answer call(int op, Object... fields) {
    client.ask(++lastTag, op, fields);
    return client.reply(lastTag);
  }

  private long allocate(int lengthBytes) {
    assertThat(call(Ops.ctxRetainPrimary, 0, 0).result()).isZero();
    return call(Ops.memAlloc, lengthBytes, 1).u64(0);
  }

  private void upload(long address, byte[] bytes) {
    for (int at = 0; at < bytes.length; at += PIECE_BYTES) {
      byte[] piece = Arrays.copyOfRange(bytes, at, Math.min(bytes.length, at + PIECE_BYTES));
      client.post(Ops.memcpyHtoD, address + at, 0, piece);
    }
  }

  /** Goes on until a copy is answered, over connections that break at random bytes. */
  private byte[] download(long address, int lengthBytes, SplittableRandom random, int meanBytes) {
    client.ask(++lastTag, Ops.memcpyDtoH, address, lengthBytes, 0);
    byte[] bytes = new byte[lengthBytes];
    long left = random.nextInt(2 * meanBytes);
    while (true) {
      left -= client.step(random.nextInt(1, 200_000), random.nextInt(0, 300_000));
      if (left <= 0) {
        client.cut();
        client.resume(random.nextBoolean());
        left = random.nextInt(2 * meanBytes);
      }
      for (Answer answer = client.answers.poll(); answer != null; answer = client.answers.poll()) {
        if (answer.tag() == lastTag && answer.kind() == AnswerKind.DATA) {
          System.arraycopy(answer.data(), 0, bytes, (int) answer.u64(0), answer.result());
        } else if (answer.tag() == lastTag && answer.kind() == AnswerKind.REPLY) {
          assertThat(answer.result()).isZero();
          return bytes;
        }
      }
    }
  }

  @Test
  void copies_overConnectionsThatBreakAtRandom_bringEachByteOnceAndInOrder() {
    long address = allocate(MEMORY_BYTES);
    byte[] expected = new byte[MEMORY_BYTES];
    SplittableRandom random = new SplittableRandom(11);
    random.nextBytes(expected);
    upload(address, expected);

    for (int round = 0; round < 60; round++) {
      int at = random.nextInt(MEMORY_BYTES / 8) * 8;
      byte[] change = new byte[random.nextInt(1, Math.min(3_000_000, MEMORY_BYTES - at + 1))];
      random.nextBytes(change);
      upload(address + at, change);
      System.arraycopy(change, 0, expected, at, change.length);

      int from = random.nextInt(MEMORY_BYTES / 8) * 8;
      int length = random.nextInt(1, Math.min(4_000_000, MEMORY_BYTES - from + 1));
      byte[] copied = download(address + from, length, random, 700_000);
      assertThat(Arrays.mismatch(copied, Arrays.copyOfRange(expected, from, from + length)))
          .as("round %d", round)
          .isEqualTo(-1);
    }
    assertThat(client.events.size()).isGreaterThan(100);
  }

  @Test
  void smallCalls_overConnectionsThatBreakAtRandom_areEachExecutedAndAnsweredOnce() {
    long address = allocate(4096);
    SplittableRandom random = new SplittableRandom(12);
    int calls = 4000;
    int first = lastTag + 1;
    for (int i = 0; i < calls; i++) {
      byte[] word = new byte[8];
      word[0] = (byte) i;
      client.post(Ops.memcpyHtoD, address, 0, word);
      client.ask(++lastTag, Ops.memcpyDtoH, address, 8, 0);
    }
    // A driver's copies may be found complete in another order.
    Set<Integer> data = new HashSet<>();
    Set<Integer> replies = new HashSet<>();
    long left = 5000;
    while (replies.size() < calls) {
      left -= client.step(random.nextInt(1, 3000), random.nextInt(0, 3000));
      if (left <= 0) {
        client.cut();
        client.resume(random.nextBoolean());
        left = random.nextInt(20_000);
      }
      for (Answer answer = client.answers.poll(); answer != null; answer = client.answers.poll()) {
        if (answer.kind() == AnswerKind.DATA) {
          assertThat(answer.data()[0]).isEqualTo((byte) (answer.tag() - first));
          assertThat(data.add(answer.tag())).isTrue();
        } else if (answer.kind() == AnswerKind.REPLY) {
          assertThat(data).contains(answer.tag());
          assertThat(replies.add(answer.tag())).isTrue();
        }
      }
    }
    assertThat(data).hasSize(calls);
  }

  @Test
  void requests_ofAQuarterMebibyteAndMore_areAcknowledgedWithoutBeingAsked() {
    long address = allocate(MEMORY_BYTES);
    upload(address, new byte[ResumeLimits.ACKNOWLEDGE_BYTES]);
    call(Ops.ctxSynchronize);
    call(Ops.ctxSynchronize);

    assertThat(client.acknowledged).isGreaterThan(ResumeLimits.ACKNOWLEDGE_BYTES);
  }

  @Test
  void acknowledgement_thatIsWanted_comesAtOnce() {
    allocate(4096);
    assertThat(client.acknowledged).isZero();

    client.acknowledge(true);
    while (client.acknowledged == 0) {
      client.step(1 << 20, 1 << 20);
    }
    assertThat(client.acknowledged).isPositive();
  }

  @Test
  void answers_whileTheConnectionIsGone_waitForTheNextOne() {
    long address = allocate(MEMORY_BYTES);
    byte[] bytes = new byte[MEMORY_BYTES];
    new SplittableRandom(5).nextBytes(bytes);
    upload(address, bytes);
    client.ask(++lastTag, Ops.memcpyDtoH, address, MEMORY_BYTES, 0);
    while (client.hasUnsent()) {
      client.step(1 << 20, 0);
    }
    client.cut();
    client.resume(false);

    assertThat(client.reply(lastTag).result()).isZero();
    assertThat(client.eventsUpToResumed()).containsExactly("disconnected", "resumed");
  }

  @Test
  void hostFunction_underWayWhenTheConnectionBreaks_isStillDue() {
    allocate(4096);
    client.post(Ops.streamCreate, STREAM, 1, 0);
    client.post(Ops.streamHostFunction, STREAM, 77, 0);
    Answer answer = client.next();
    assertThat(answer.kind()).isEqualTo(AnswerKind.CALLBACK);
    client.cut();
    client.resume(true);

    client.ask(++lastTag, Ops.streamQuery, STREAM);
    assertThat(client.reply(lastTag).result()).isEqualTo(600);
    client.post(Ops.callbackDone, 77);
    assertThat(call(Ops.streamSynchronize, STREAM).result()).isZero();
  }

  @Test
  void callThatWaitsForAHostFunction_whileTheConnectionIsGone_goesOnWithTheNextOne() {
    allocate(4096);
    client.post(Ops.streamCreate, STREAM, 1, 0);
    client.post(Ops.streamHostFunction, STREAM, 77, 0);
    assertThat(client.next().kind()).isEqualTo(AnswerKind.CALLBACK);
    client.post(Ops.ctxReleasePrimary, 0);
    client.post(Ops.streamDestroy, STREAM);
    int tag = ++lastTag;
    client.ask(tag, Ops.memAlloc, 4096, 1);
    while (client.hasUnsent()) {
      client.step(1 << 20, 0);
    }
    client.cut();
    client.resume(false);
    client.post(Ops.callbackDone, 77);

    client.reply(tag);
  }

  @Test
  void connection_thatIsAlive_isFencedOffByANewerOne() {
    allocate(4096);
    int former = client.keepOpen();

    client.resume(true);

    client.awaitEnd(former);
    Posix.close(former);
    assertThat(call(Ops.ctxSynchronize).result()).isZero();
    assertThat(client.eventsUpToResumed()).containsExactly("disconnected", "resumed");
  }

  @Test
  void connection_thatBreaksBeforeItIsResumed_makesWayForTheNextOne() {
    allocate(4096);
    for (int i = 0; i < 3; i++) {
      client.cut();
      client.resumeHalf();
    }
    client.resume(true);

    assertThat(call(Ops.ctxSynchronize).result()).isZero();
    assertThat(client.eventsUpToResumed()).containsExactly("disconnected", "resumed");
  }

  @Test
  void sessionWithoutAConnection_endsWhenItsWindowIsOver() throws Exception {
    reopen(300);
    allocate(4096);
    client.cut();
    long begin = System.nanoTime();

    assertThat(client.reason())
        .isEqualTo(
            "its connection was lost 0 s ago (its peer closed it) and did not come back within its"
                + " resume window of 0 s");
    assertThat(System.nanoTime() - begin)
        .isBetween(TimeUnit.MILLISECONDS.toNanos(290), TimeUnit.MILLISECONDS.toNanos(1300));
  }

  @Test
  void callThatWaitsForAHostFunction_whenTheWindowIsOver_doesNotKeepTheSession() throws Exception {
    reopen(300);
    allocate(4096);
    client.post(Ops.streamCreate, STREAM, 1, 0);
    client.post(Ops.streamHostFunction, STREAM, 77, 0);
    assertThat(client.next().kind()).isEqualTo(AnswerKind.CALLBACK);
    client.post(Ops.ctxReleasePrimary, 0);
    while (client.hasUnsent()) {
      client.step(1 << 20, 0);
    }
    client.cut();

    assertThat(client.reason()).contains("did not come back within its resume window");
  }

  @Test
  void resumption_atAByteThatWasNeverSent_endsTheSessionWithTheNumbers() throws Exception {
    allocate(4096);
    client.cut();
    long sent = client.received;

    Answer answer = client.resumeWith(Request.resume(sent + 8));
    assertThat(answer).isNotNull();
    assertThat(answer.kind()).isEqualTo(AnswerKind.FATAL);
    assertThat(answer.text())
        .isEqualTo(
            "its connection cannot be resumed at byte %d of the answers: bytes 0 to %d can be sent"
                    .formatted(sent + 8, sent)
                + " again");
    assertThat(client.reason()).isEqualTo(answer.text());
  }

  @Test
  void resumption_atAByteThatWasAcknowledged_endsTheSessionWithTheNumbers() throws Exception {
    allocate(4096);
    client.acknowledge(true);
    while (client.acknowledged == 0) {
      client.step(1 << 20, 1 << 20);
    }
    client.cut();
    long sent = client.received;

    Answer answer = client.resumeWith(Request.resume(sent - 8));
    assertThat(answer).isNotNull();
    assertThat(answer.kind()).isEqualTo(AnswerKind.FATAL);
    assertThat(client.reason()).contains("at byte " + (sent - 8));
  }

  @Test
  void laterConnection_thatDoesNotBeginWithResume_endsTheSession() throws Exception {
    allocate(4096);
    client.cut();
    client.resumeWith(Request.posted(Ops.callbackDone, 0, 0));

    assertThat(client.reason()).startsWith("malformed frame: a later connection began with op");
  }

  @Test
  void acknowledgement_thatIsWrong_endsTheSession() throws Exception {
    allocate(4096);
    client.sendControl(Request.acknowledge(client.received + 1, false));
    endsWith("malformed frame: an acknowledgement of byte " + (client.received + 1));

    allocate(4096);
    client.sendControl(Request.acknowledge(client.received, false));
    client.sendControl(Request.acknowledge(client.received - 1, false));
    endsWith("malformed frame: an acknowledgement of byte " + (client.received - 1));

    client.sendControl(Request.resume(0));
    endsWith("malformed frame: control op 65535 of 16 bytes");
  }

  private void endsWith(String reason) throws Exception {
    while (client.hasUnsent()) {
      client.step(1 << 20, 0);
    }
    assertThat(client.reason()).startsWith(reason);
    reopen(WINDOW_MILLIS);
  }

  @Test
  void answers_thatNobodyAcknowledges_waitForIt() {
    long address = allocate(MEMORY_BYTES);
    client.acknowledges = false;
    int copies = 12;
    for (int i = 0; i < copies; i++) {
      client.ask(++lastTag, Ops.memcpyDtoH, address, MEMORY_BYTES, 0);
    }
    // Short ones are answered by the session's own thread.
    for (int i = 0; i < 300; i++) {
      client.ask(++lastTag, Ops.memcpyDtoH, address, 500_000, 0);
    }
    long bytes = drain(lastTag);

    assertThat(bytes).isLessThan(ResumeLimits.MAX_RETAINED_BYTES + 4096L);
    assertThat(bytes).isGreaterThan(ResumeLimits.MAX_RETAINED_BYTES - (4L << 20));
    client.acknowledges = true;
    client.acknowledge(false);
    assertThat(client.reply(lastTag).result()).isZero();
  }

  /** Reads until nothing comes for a while, and the answer of a tag has not come. */
  private long drain(int tag) {
    long last = System.nanoTime();
    while (System.nanoTime() - last < TimeUnit.MILLISECONDS.toNanos(700)) {
      if (client.step(1 << 20, 1 << 20) > 0) {
        last = System.nanoTime();
      }
    }
    assertThat(client.answers)
        .noneMatch(answer -> answer.tag() == tag && answer.kind() == AnswerKind.REPLY);
    client.answers.clear();
    return client.received;
  }

  @Test
  void acknowledgement_behindMoreRequestsThanTheBufferHolds_isFound() {
    long address = allocate(MEMORY_BYTES);
    client.acknowledges = false;
    for (int i = 0; i < 300; i++) {
      client.ask(++lastTag, Ops.memcpyDtoH, address, 500_000, 0);
    }
    drain(lastTag);
    for (int i = 0; i < 40; i++) {
      client.post(Ops.memcpyHtoD, address, 0, new byte[PIECE_BYTES]);
    }
    client.acknowledge(false);
    client.acknowledges = true;

    assertThat(client.reply(lastTag).result()).isZero();
    assertThat(call(Ops.ctxSynchronize).result()).isZero();
  }

  @Test
  void answers_thatNobodyAcknowledges_endTheSessionAfterItsWindow() throws Exception {
    reopen(1000);
    long address = allocate(MEMORY_BYTES);
    client.acknowledges = false;
    for (int i = 0; i < 20; i++) {
      client.ask(++lastTag, Ops.memcpyDtoH, address, MEMORY_BYTES, 0);
    }
    drain(lastTag);
    while (!client.ended.isDone()) {
      assertThat(client.session.watch()).isLessThan(TimeUnit.SECONDS.toNanos(5));
      client.step(1 << 20, 1 << 20);
    }

    assertThat(client.reason()).matches("the program has not acknowledged 6\\d+ bytes of .*");
  }

  @Test
  void logThatIsFull_whileTheConnectionIsGone_isSentWithTheNextOne() {
    long address = allocate(MEMORY_BYTES);
    byte[] bytes = new byte[MEMORY_BYTES];
    new SplittableRandom(6).nextBytes(bytes);
    upload(address, bytes);
    for (int i = 0; i < 12; i++) {
      client.ask(++lastTag, Ops.memcpyDtoH, address, MEMORY_BYTES, 0);
    }
    while (client.hasUnsent()) {
      client.step(1 << 20, 0);
    }
    client.cut();
    client.resume(false);

    int pieces = 0;
    Answer answer = client.next();
    while (answer.kind() != AnswerKind.REPLY || answer.tag() != lastTag) {
      if (answer.kind() == AnswerKind.DATA) {
        int at = (int) answer.u64(0);
        assertThat(
                Arrays.mismatch(answer.data(), Arrays.copyOfRange(bytes, at, at + answer.result())))
            .isEqualTo(-1);
        pieces++;
      }
      answer = client.next();
    }
    while (pieces < 12 * MEMORY_BYTES / PIECE_BYTES) {
      pieces += client.next().kind() == AnswerKind.DATA ? 1 : 0;
    }
  }

  @Test
  void goodbye_endsTheSessionAtOnce() throws Exception {
    allocate(4096);
    client.send(Request.posted(Ops.goodbye, 0));
    while (client.hasUnsent()) {
      client.step(1 << 20, 0);
    }
    assertThat(client.reason()).isEqualTo("goodbye");
  }
}
