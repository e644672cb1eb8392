// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import io.gpupool.control.state.v1.RunningSessionRecord;
import io.gpupool.control.v1.EndSessionRequest;
import io.gpupool.control.v1.LeaseRequest;
import io.gpupool.control.v1.ListRequest;
import io.gpupool.control.v1.OpenSessionReply;
import io.gpupool.control.v1.ReleaseLeaseRequest;
import io.gpupool.control.v1.ResumeSessionReply;
import io.gpupool.control.v1.ResumeSessionRequest;
import io.gpupool.control.v1.SessionInfo;
import io.gpupool.runtime.ProcessStart;
import io.gpupool.wire.ClientHello;
import io.gpupool.wire.SessionId;
import io.gpupool.wire.SessionKey;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** A server that ends without its sessions, which its next process takes over. */
class ServerTakeoverIT {
  private static final Duration LIMIT = Duration.ofSeconds(20);
  private static final long WINDOW_MILLIS = 60_000;

  @TempDir Path state;
  private Pool pool;
  private int port;

  @BeforeEach
  void start() throws Exception {
    port = FreePort.find();
    pool = Pool.lasting("soft:1", port, state);
  }

  @AfterEach
  void end() {
    pool.server.leaveNothing();
    pool.close();
  }

  private void restart() throws IOException {
    pool.close();
    pool = Pool.lasting("soft:1", port, state);
  }

  /** A program whose session outlives its server. */
  private record Program(Pool.Held held, OpenSessionReply session, Pool.Stream stream) {
    String say(String line) throws IOException {
      return stream.say(line);
    }
  }

  private Program program(long windowMillis) throws Exception {
    Pool.Held held =
        pool.lease(LeaseRequest.newBuilder().setFraction(0.25).setResumeWindowMillis(windowMillis));
    OpenSessionReply session = pool.session(held.lease());
    Pool.Stream stream = pool.connect(session);
    assertThat(stream.answer().isAccepted()).isTrue();
    if (windowMillis > 0) {
      assertThat(stream.say("stay")).isEqualTo("ok");
    }
    return new Program(held, session, stream);
  }

  private Program program() throws Exception {
    return program(WINDOW_MILLIS);
  }

  private List<SessionInfo> sessions() {
    return pool.stub.listSessions(ListRequest.getDefaultInstance()).getSessionsList();
  }

  private long usedBytes() {
    return sessions().getFirst().getUsedMemoryBytes(0);
  }

  private List<Path> left() throws IOException {
    try (Stream<Path> files = Files.list(state.resolve("run"))) {
      return files.filter(file -> !file.endsWith("lock")).toList();
    }
  }

  private static ProcessStart worker(SessionInfo session) {
    return ProcessStart.of(session.getWorkerPid()).orElseThrow();
  }

  @Test
  void restart_sessionWithAWindow_goesOnWithItsLeaseMemoryAndStatistics() throws Exception {
    Program program = program();
    assertThat(program.say("use 4096")).isEqualTo("ok");
    String slots = program.say("slots");
    SessionInfo before = sessions().getFirst();
    restart();
    assertThat(sessions())
        .singleElement()
        .satisfies(session -> {
          assertThat(session.getId()).isEqualTo(before.getId());
          assertThat(session.getWorkerPid()).isEqualTo(before.getWorkerPid());
          assertThat(session.getState()).isEqualTo(SessionInfo.State.STATE_ATTACHED);
        });
    assertThat(program.say("echo alive")).isEqualTo("alive");
    assertThat(usedBytes()).isEqualTo(4096);
    assertThat(program.say("use 4096")).isEqualTo("ok");
    assertThat(usedBytes()).as("the ledger is the worker's, too").isEqualTo(8192);
    await().atMost(LIMIT).until(() -> sessions().getFirst().getCalls() == 11);
    assertThat(program.say("slots")).isEqualTo(slots);
    Program other = program();
    assertThat(other.say("slots")).as("of another lease").isNotEqualTo(slots);
  }

  @Test
  void restart_twice_goesOn() throws Exception {
    Program program = program();
    restart();
    restart();
    assertThat(program.say("echo alive")).isEqualTo("alive");
    assertThat(sessions()).hasSize(1);
  }

  @Test
  void restart_sessionEndsAfterwards_leavesNothing() throws Exception {
    program();
    restart();
    ProcessStart worker = worker(sessions().getFirst());
    pool.stub.endSession(
        EndSessionRequest.newBuilder().setId(sessions().getFirst().getId()).build());
    await().atMost(LIMIT).until(() -> sessions().isEmpty());
    assertThat(worker.isAlive()).isFalse();
    assertThat(left()).isEmpty();
  }

  @Test
  void restart_leaseIsReleasedAfterwards_isFree() throws Exception {
    Program program = program();
    restart();
    pool.stub.releaseLease(
        ReleaseLeaseRequest.newBuilder()
            .setLeaseId(program.held().lease().getId())
            .setSecret(program.held().lease().getSecret())
            .build());
    await()
        .atMost(LIMIT)
        .until(
            () -> pool.stub.listLeases(ListRequest.getDefaultInstance()).getLeasesList().isEmpty());
    assertThat(sessions()).isEmpty();
  }

  @Test
  void restart_programLosesItsConnection_resumesAtTheNextProcess() throws Exception {
    Program program = program();
    restart();
    program.stream().close();
    await()
        .atMost(LIMIT)
        .until(() -> sessions().getFirst().getState() == SessionInfo.State.STATE_DISCONNECTED);
    ResumeSessionReply resumed =
        pool.stub.resumeSession(
            ResumeSessionRequest.newBuilder()
                .setSessionId(program.session().getSessionId())
                .setSessionKey(program.session().getSessionKey())
                .build());
    try (Pool.Stream again = new Pool.Stream(pool.server.dataPort())) {
      again
          .socket
          .getOutputStream()
          .write(
              ClientHello.resuming(
                      1,
                      1,
                      SessionId.ofBytes(program.session().getSessionId().toByteArray()),
                      SessionKey.ofBytes(resumed.getResumeKey().toByteArray()))
                  .encode());
      assertThat(again.answer().isAccepted()).isTrue();
      assertThat(again.say("echo again")).isEqualTo("again");
    }
  }

  @Test
  void restart_sessionWithoutAWindow_endsWithTheServerAndItsLeaseGoesOn() throws Exception {
    Program program = program(0);
    ProcessStart worker = worker(sessions().getFirst());
    restart();
    assertThat(worker.isAlive()).isFalse();
    assertThat(sessions()).isEmpty();
    assertThat(pool.stub.listLeases(ListRequest.getDefaultInstance()).getLeases(0).getId())
        .isEqualTo(program.held().lease().getId());
  }

  @Test
  void restart_sessionHasAnotherWorkerOnAnotherGpu_isKilledAndTheSessionGoesOn() throws Exception {
    Program program = program();
    Process other = new ProcessBuilder("sleep", "600").start();
    pool.close();
    recordAgain(ProcessStart.of(other.pid()).orElseThrow(), "another card");
    pool = Pool.lasting("soft:1", port, state);
    assertThat(other.waitFor(LIMIT.toSeconds(), TimeUnit.SECONDS)).isTrue();
    assertThat(program.say("echo alive")).isEqualTo("alive");
    assertThat(sessions()).hasSize(1);
    assertThat(sessionRecords()).hasSize(1);
  }

  private List<Path> sessionRecords() throws IOException {
    return left().stream()
        .filter(file -> file.getFileName().toString().startsWith("session-"))
        .toList();
  }

  /** Records the one session once more, as if it were about to move to a GPU of this server. */
  private void recordAgain(ProcessStart worker, String card) throws Exception {
    Path file = sessionRecords().getFirst();
    RunningSessionRecord record = RunningSessionRecord.parseFrom(Files.readAllBytes(file));
    RunningSessionRecord arriving =
        record.toBuilder()
            .setWorkerPid(worker.pid())
            .setWorkerStarted(worker.started())
            .setGpus(0, record.getGpus(0).toBuilder().setCard(card))
            .build();
    SessionId id = SessionId.ofBytes(record.getSessionId().toByteArray());
    Files.write(file.resolveSibling("session-" + id + "-" + worker.pid()), arriving.toByteArray());
  }

  @Test
  void restart_workerIsDeadByThen_freesWhatItHad() throws Exception {
    Program dead = program();
    Program alive = program();
    assertThat(dead.say("use 4096")).isEqualTo("ok");
    ProcessStart worker =
        worker(
            sessions().stream()
                .filter(session -> session.getLeaseId().equals(dead.held().lease().getId()))
                .findFirst()
                .orElseThrow());
    pool.close();
    worker.kill();
    await().atMost(LIMIT).until(() -> !worker.isAlive());
    pool = Pool.lasting("soft:1", port, state);
    assertThat(sessions())
        .singleElement()
        .satisfies(
            session -> assertThat(session.getLeaseId()).isEqualTo(alive.held().lease().getId()));
    assertThat(left()).as("a record and a socket").hasSize(2);
  }

  @Test
  void restart_workerOfAnotherProtocol_isKilled() throws Exception {
    assertLostAfter("protocol 99");
  }

  @Test
  void restart_workerHandsBackOtherFiles_isKilled() throws Exception {
    assertLostAfter("cheat");
  }

  private void assertLostAfter(String line) throws Exception {
    Program program = program();
    assertThat(program.say(line)).isEqualTo("ok");
    ProcessStart worker = worker(sessions().getFirst());
    restart();
    assertThat(worker.isAlive()).isFalse();
    assertThat(sessions()).isEmpty();
    assertThat(left()).isEmpty();
  }

  @Test
  void restart_stateIsNew_killsTheWorkerOfALeaseThatIsUnknown() throws Exception {
    program();
    ProcessStart worker = worker(sessions().getFirst());
    pool.close();
    try (Stream<Path> files = Files.list(state).filter(Files::isRegularFile)) {
      for (Path file : files.toList()) {
        Files.delete(file);
      }
    }
    pool = Pool.lasting("soft:1", port, state);
    assertThat(worker.isAlive()).isFalse();
    assertThat(left()).isEmpty();
  }

  @Test
  void close_leavesNothing_endsAll() throws Exception {
    program();
    ProcessStart worker = worker(sessions().getFirst());
    pool.server.leaveNothing();
    pool.close();
    assertThat(worker.isAlive()).isFalse();
    pool = Pool.lasting("soft:1", port, state);
    assertThat(pool.stub.listLeases(ListRequest.getDefaultInstance()).getLeasesList()).isEmpty();
  }

  @Test
  void start_secondServerOnTheRunDirectory_isRefused() {
    assertThatThrownBy(() -> Pool.lasting("soft:1", 0, state)).hasMessageContaining("in use");
  }

  @Test
  void kill_sessionWithAWindow_isTakenOver(@TempDir Path other) throws Exception {
    try (KilledServer killed = KilledServer.start(other);
        Pool.Stream stream = new Pool.Stream(killed.dataPort)) {
      stream.socket.getOutputStream().write(Pool.hello(killed.session).encode());
      assertThat(stream.answer().isAccepted()).isTrue();
      assertThat(stream.say("stay")).isEqualTo("ok");
      assertThat(stream.say("use 4096")).isEqualTo("ok");
      killed.kill();
      assertThat(stream.say("echo alone")).isEqualTo("alone");
      try (Pool next = Pool.lasting("soft:1", 0, other)) {
        next.server.leaveNothing();
        assertThat(next.stub.listSessions(ListRequest.getDefaultInstance()).getSessionsList())
            .singleElement()
            .satisfies(session -> assertThat(session.getUsedMemoryBytes(0)).isEqualTo(4096));
        assertThat(stream.say("echo again")).isEqualTo("again");
      }
    }
  }
}
