// SPDX-License-Identifier: Apache-2.0
package io.gpupool.e2e;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.google.protobuf.ByteString;
import io.gpupool.control.v1.SessionInfo;
import io.gpupool.cuda.AnswerKind;
import io.gpupool.cuda.Ops;
import io.gpupool.cuda.ResumeLimits;
import io.gpupool.wire.ServerHello;
import io.grpc.Status;
import io.grpc.StatusRuntimeException;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.util.Random;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/**
 * Programs that misuse what lets sessions outlive their connections, while a tenant works: their
 * own session ends, for a reason that is told and logged, memory stays bounded, and the tenant goes
 * on.
 */
class HostileResumeIT {
  private static final int MEBIBYTE = 1 << 20;
  private static final long LONG_MILLIS = 60_000;
  private static final long SHORT_MILLIS = 2000;
  private static final int COPY_BYTES = 8 * MEBIBYTE;

  /** Copies of {@link #COPY_BYTES} that are more than twice what a worker keeps. */
  private static final int COPIES = 20;

  private static final int MANY = 2_000;

  /** Resumptions that a session may have in a short time. */
  private static final int ALLOWED = 64;

  /** Bytes that a worker keeps of both directions, and a heap that grows meanwhile. */
  private static final long MOST_GROWTH_BYTES = 320L * MEBIBYTE;

  private static final long MOST_SERVER_GROWTH_BYTES = 256L * MEBIBYTE;

  /** Bytes that the sockets on the way take. */
  private static final long SOCKETS_BYTES = 64L * MEBIBYTE;

  private static Pool pool;
  private Tenant tenant;
  private long serverBytes;

  @BeforeAll
  static void startPool() {
    pool = Pool.start("soft:1,mem=1Gi");
  }

  @AfterAll
  static void stopPool() {
    if (pool != null) {
      pool.close();
    }
  }

  @BeforeEach
  void startTenant() throws IOException {
    tenant = Tenant.start(pool, "-p", "0.25", "--resume-window", "0");
    serverBytes = Processes.residentBytes(pool.server().pid());
    tenant.ask("steady");
  }

  @AfterEach
  void tenantHasWorked() throws IOException {
    try (Tenant ending = tenant) {
      ending.assertWorkedSteadily();
      ending.assertWorks();
    }
    pool.awaitIdle();
    assertThat(pool.server().isAlive()).isTrue();
    assertThat(Processes.residentBytes(pool.server().pid()) - serverBytes)
        .as("growth of the server")
        .isLessThan(MOST_SERVER_GROWTH_BYTES);
  }

  @Test
  void neverAcknowledging_endsTheSessionAfterItsWindow() throws IOException {
    try (RawProgram program = RawProgram.start(pool, SHORT_MILLIS)) {
      long worker = workerOf(program);
      long before = Processes.residentBytes(worker);
      askForCopies(program);
      long most = 0;
      RawProgram.Answer answer = program.next();
      while (answer.kind() != AnswerKind.FATAL) {
        if (program.received() > ResumeLimits.MAX_RETAINED_BYTES - 4L * MEBIBYTE) {
          most = Math.max(most, Processes.residentBytesUntilItsEnd(worker));
        }
        answer = program.next();
      }
      assertThat(answer.text())
          .matches("the program has not acknowledged 6\\d+ bytes of answers .* of 2 s");
      assertThat(program.received()).isLessThan(ResumeLimits.MAX_RETAINED_BYTES + MEBIBYTE);
      assertThat(most).isPositive();
      assertThat(most - before).as("growth of the worker").isLessThan(MOST_GROWTH_BYTES);
      awaitLogged(program, answer.text());
    }
  }

  /**
   * It may be stopped, so it need not end; but it gets no more than its own session has room for.
   */
  @Test
  void neverReading_takesNoMoreMemoryThanItsOwnSessionHas() throws Exception {
    try (RawProgram program = RawProgram.start(pool, LONG_MILLIS)) {
      long worker = workerOf(program);
      long before = Processes.residentBytes(worker);
      long address = askForCopies(program);
      byte[] request = RawProgram.post(Ops.memcpyHtoD, address, 0, new byte[MEBIBYTE]);
      AtomicLong sent = new AtomicLong();
      Thread sender = sending(program, request, sent);
      long last = -1;
      while (last != sent.get()) {
        last = sent.get();
        sender.join(1000);
      }
      assertThat(sent)
          .hasValueLessThan(ResumeLimits.MAX_RETAINED_BYTES + 8L * MEBIBYTE + SOCKETS_BYTES);
      assertThat(Processes.residentBytes(worker) - before)
          .as("growth of the worker")
          .isLessThan(MOST_GROWTH_BYTES);
    }
  }

  private static Thread sending(RawProgram program, byte[] bytes, AtomicLong sent) {
    return sending(program, bytes, sent, Integer.MAX_VALUE);
  }

  private static Thread sending(RawProgram program, byte[] bytes, AtomicLong sent, int times) {
    return Thread.ofPlatform().daemon().start(() -> sendAgain(program, bytes, sent, times));
  }

  /** Sends the same again and again, until the connection ends. */
  private static void sendAgain(RawProgram program, byte[] bytes, AtomicLong sent, int times) {
    try {
      for (int i = 0; i < times; i++) {
        program.send(bytes);
        sent.addAndGet(bytes.length);
      }
    } catch (IOException e) {
      // What was sent until then is what counts.
    }
  }

  @Test
  void acknowledgingTheFuture_endsTheSessionAtOnce() throws IOException {
    try (RawProgram program = RawProgram.start(pool, LONG_MILLIS)) {
      long future = program.received() + 8;
      program.send(RawProgram.acknowledgement(future, false));
      String reason = program.fatal();
      assertThat(reason).startsWith("malformed frame: an acknowledgement of byte " + future);
      awaitLogged(program, reason);
    }
  }

  @Test
  void acknowledgingAMillionTimes_costsNothing() throws Exception {
    try (RawProgram program = RawProgram.start(pool, LONG_MILLIS)) {
      long worker = workerOf(program);
      long before = Processes.residentBytes(worker);
      byte[] acknowledgement = RawProgram.acknowledgement(program.received(), true);
      ByteArrayOutputStream many = new ByteArrayOutputStream();
      for (int i = 0; i < MANY; i++) {
        many.writeBytes(acknowledgement);
      }
      AtomicLong sent = new AtomicLong();
      Thread sender = sending(program, many.toByteArray(), sent, 500);
      while (sender.isAlive()) {
        if (program.socket().getInputStream().available() > 0) {
          assertThat(program.next().kind()).isEqualTo(AnswerKind.ACK);
        } else {
          sender.join(1);
        }
      }
      assertThat(sent).hasValue(500L * MANY * acknowledgement.length);
      assertThat(program.call(Ops.ctxSynchronize).result()).isZero();
      assertThat(Processes.residentBytes(worker) - before).isLessThan(MOST_GROWTH_BYTES);
    }
  }

  @Test
  void resumingAtAWrongPlace_endsTheSessionAtOnce() throws IOException {
    try (RawProgram program = RawProgram.start(pool, LONG_MILLIS)) {
      long position = program.received();
      resumeWith(program, RawProgram.resumeFrame(position + 8));
      String reason = program.fatal();
      assertThat(reason).startsWith("its connection cannot be resumed at byte " + (position + 8));
      awaitLogged(program, reason);
    }
  }

  @Test
  void resumingBeforeAnAcknowledgement_endsTheSessionAtOnce() throws IOException {
    try (RawProgram program = RawProgram.start(pool, LONG_MILLIS)) {
      long position = program.received();
      program.send(RawProgram.acknowledgement(position, true));
      assertThat(program.next().kind()).isEqualTo(AnswerKind.ACK);
      resumeWith(program, RawProgram.resumeFrame(position - 8));
      String reason = program.fatal();
      assertThat(reason).startsWith("its connection cannot be resumed at byte " + (position - 8));
      awaitLogged(program, reason);
    }
  }

  @Test
  void resumingWithSomethingElse_endsTheSessionAtOnce() throws IOException {
    try (RawProgram program = RawProgram.start(pool, LONG_MILLIS)) {
      resumeWith(program, program.ask(Ops.ctxSynchronize));
      String reason = program.fatal();
      assertThat(reason).startsWith("malformed frame: a later connection began with op");
      awaitLogged(program, reason);
    }
  }

  private static void resumeWith(RawProgram program, byte[] first) throws IOException {
    program.cut();
    assertThat(program.connect(program.resumingHello(program.resumeKey())).isAccepted()).isTrue();
    program.send(first);
  }

  @Test
  void connectionsThatSayNothing_giveWayToOneThatResumes() throws IOException {
    try (RawProgram program = RawProgram.start(pool, LONG_MILLIS)) {
      for (int i = 0; i < ALLOWED / 2; i++) {
        assertThat(program.connect(program.resumingHello(program.resumeKey())).isAccepted())
            .isTrue();
      }
      program.resume();
      assertThat(program.call(Ops.ctxSynchronize).result()).isZero();
    }
  }

  @Test
  void replayedKeysAndHandshakes_areRefusedAndTheSessionGoesOn() throws IOException {
    try (RawProgram program = RawProgram.start(pool, LONG_MILLIS)) {
      program.cut();
      byte[] key = program.resumeKey();
      assertThat(program.connect(program.resumingHello(key)).isAccepted()).isTrue();
      program.send(RawProgram.resumeFrame(program.received()));
      assertThat(program.next().kind()).isEqualTo(AnswerKind.RESUMED);

      assertThat(program.connect(program.resumingHello(key)).status())
          .as("the resume key once more")
          .isEqualTo(ServerHello.BAD_SESSION);
      assertThat(program.connect(program.firstHello()).status())
          .as("the first handshake once more")
          .isEqualTo(ServerHello.BAD_SESSION);
      assertThat(program.call(Ops.ctxSynchronize).result()).isZero();
    }
  }

  @Test
  void stolenSessionId_withManyGuessedKeys_opensNothing() throws IOException {
    Random random = new Random(3);
    byte[] guess = new byte[32];
    try (RawProgram program = RawProgram.start(pool, LONG_MILLIS)) {
      for (int i = 0; i < MANY; i++) {
        random.nextBytes(guess);
        ServerHello answer = program.connect(program.resumingHello(guess));
        assertThat(answer.status()).isEqualTo(ServerHello.BAD_SESSION);
      }
      for (int i = 0; i < MANY; i++) {
        random.nextBytes(guess);
        ByteString key = ByteString.copyFrom(guess);
        assertThatThrownBy(() -> program.resumeKey(key)).hasMessageStartingWith("NOT_FOUND");
      }
      assertThat(program.call(Ops.ctxSynchronize).result()).isZero();
      program.cut();
      program.resume();
      assertThat(program.call(Ops.ctxSynchronize).result()).isZero();
    }
  }

  @Test
  void askingForManyKeys_endsTheSession() throws IOException {
    try (RawProgram program = RawProgram.start(pool, LONG_MILLIS)) {
      int given = 0;
      for (int i = 0; i < MANY; i++) {
        try {
          assertThat(program.resumeKey()).hasSize(32);
          given++;
        } catch (StatusRuntimeException e) {
          assertThat(e.getStatus().getCode()).isEqualTo(Status.Code.NOT_FOUND);
        }
      }
      assertThat(given).isBetween(ALLOWED, 2 * ALLOWED);
      awaitLogged(program, "it was resumed more than 64 times within 10 s");
    }
  }

  @Test
  void resumingManyTimes_endsTheSession() throws IOException {
    try (RawProgram program = RawProgram.start(pool, LONG_MILLIS)) {
      assertThatThrownBy(
              () -> {
                for (int i = 0; i < MANY; i++) {
                  program.resume();
                }
              })
          .isInstanceOf(StatusRuntimeException.class)
          .hasMessageStartingWith("NOT_FOUND")
          .hasMessageContaining("it was resumed too often");
      awaitLogged(program, "it was resumed more than 64 times within 10 s");
    }
  }

  /** Returns the address that is copied from. */
  private static long askForCopies(RawProgram program) throws IOException {
    long address = program.call(Ops.memAlloc, COPY_BYTES, 1).firstWord();
    for (int i = 0; i < COPIES; i++) {
      program.send(program.ask(Ops.memcpyDtoH, address, COPY_BYTES, 0));
    }
    return address;
  }

  private static long workerOf(RawProgram program) {
    return pool.sessions().stream()
        .filter(session -> session.getLeaseId().equals(program.leaseId()))
        .mapToLong(SessionInfo::getWorkerPid)
        .findFirst()
        .orElseThrow();
  }

  /** Sees the reason in the server's log. */
  private static void awaitLogged(RawProgram program, String reason) {
    String line =
        pool.server()
            .awaitErrorLine(text ->
                text.contains("lease " + program.leaseId() + " session")
                    && text.contains(" ends: "));
    assertThat(line).contains(reason);
  }
}
