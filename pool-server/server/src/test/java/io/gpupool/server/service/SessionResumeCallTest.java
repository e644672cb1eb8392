// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.service;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.google.protobuf.ByteString;
import io.gpupool.control.v1.ResumeSessionReply;
import io.gpupool.control.v1.ResumeSessionRequest;
import io.gpupool.server.control.ManualTimers;
import io.gpupool.server.gpu.GpuKey;
import io.gpupool.server.identity.Principal;
import io.gpupool.server.lease.lifecycle.Ground;
import io.gpupool.server.lease.move.Destination;
import io.gpupool.server.lease.move.LeaseMoves;
import io.gpupool.server.lease.move.ServerKinds;
import io.gpupool.server.lease.store.MoveStore;
import io.gpupool.server.options.LocalSocketOptions;
import io.gpupool.server.placement.PlacementTest;
import io.gpupool.server.records.MoveRecord;
import io.gpupool.server.records.RecordTypes;
import io.gpupool.server.service.SessionCalls.CallStreams;
import io.gpupool.server.session.ServedSessions;
import io.gpupool.server.session.Session;
import io.gpupool.server.state.LocalStore;
import io.gpupool.server.stream.LocalSocket;
import io.gpupool.server.view.ServerDirectory;
import io.gpupool.server.view.ServerMode;
import io.gpupool.server.worker.LinkedWorker;
import io.gpupool.transport.EventLoops;
import io.gpupool.wire.ServerHello;
import io.gpupool.wire.SessionKey;
import io.gpupool.wire.TextMessage;
import io.gpupool.wire.WireException;
import io.grpc.Status;
import io.grpc.StatusRuntimeException;
import io.grpc.stub.StreamObserver;
import io.netty.channel.EventLoopGroup;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class SessionResumeCallTest {
  private static final long HOUR_MILLIS = 3_600_000;

  private final LocalStore store = LocalStore.inMemory();
  private final ManualTimers timers = new ManualTimers();
  private final Ground ground = server("a");
  private final ServedSessions served = new ServedSessions(ground);
  private final SessionResumeCall call =
      new SessionResumeCall(
          served.sessions,
          ground.finder,
          new ServerDirectory(
              "a", () -> "a:7642", "soft", new ServerMode(false, false), ground.capacity.members()),
          new CallStreams(7641, true, false, null));
  private Principal blue;
  private Session session;

  @BeforeEach
  void attach() throws Exception {
    blue = served.principal(served.tenant("blue", HOUR_MILLIS));
    session = served.open(blue);
  }

  @Test
  void answer_rightKey_givesAKeyThatOpensAConnection() throws Exception {
    LinkedWorker ignored = served.attach(session);
    session.onMessage(TextMessage.ofType("disconnected").put("reason", "reset").build());
    ResumeSessionReply reply = call.answer(request(), blue);
    assertThat(reply.getCallStreamPort()).isEqualTo(7641);
    assertThat(reply.getCallStreamClear()).isTrue();
    SessionKey key = SessionKey.ofBytes(reply.getResumeKey().toByteArray());
    assertThat(served.resume(session, key)).isEqualTo(ServerHello.ACCEPTED);
    assertThat(call.answer(request().toBuilder().setServer("a").build(), blue).getResumeKey())
        .as("asked by the server's name")
        .isNotEqualTo(reply.getResumeKey());
  }

  @Test
  void answer_programCanShareMemory_namesTheSocketOfThisMachine(@TempDir Path folder)
      throws Exception {
    LinkedWorker ignored = served.attach(session);
    EventLoopGroup loops = EventLoops.create("local", 1);
    LocalSocket socket =
        LocalSocket.open(LocalSocketOptions.parse(folder.toString()), loops, (hello, stream) -> {})
            .orElseThrow();
    SessionResumeCall withSocket =
        new SessionResumeCall(
            call.sessions(),
            call.finder(),
            call.directory(),
            new CallStreams(7641, true, false, socket));
    ResumeSessionRequest sharing = request().toBuilder().setCanShareMemory(true).build();
    assertThat(withSocket.answer(sharing, blue).getLocalSocket()).isEqualTo(socket.toString());
    assertThat(withSocket.answer(request(), blue).getLocalSocket()).isEmpty();
    assertThat(call.answer(sharing, blue).getLocalSocket()).isEmpty();
    socket.close();
    loops.shutdownGracefully(0, 1, TimeUnit.SECONDS);
  }

  @Test
  void answer_wrongKeyOtherTenantOrEndedSession_isNotFound() throws Exception {
    LinkedWorker ignored = served.attach(session);
    Principal red = served.principal(served.tenant("red", HOUR_MILLIS));
    ByteString zeros = ByteString.copyFrom(new byte[32]);
    assertStatus(
        () -> call.answer(request().toBuilder().setSessionKey(zeros).build(), blue),
        Status.Code.NOT_FOUND,
        "no such session; it may have ended");
    assertStatus(
        () -> call.answer(request(), red),
        Status.Code.NOT_FOUND,
        "no such session; it may have ended");
    assertThatThrownBy(() -> call.answer(request().toBuilder().clearSessionKey().build(), blue))
        .as("its id alone")
        .isInstanceOf(WireException.class);
    session.end("test");
    assertStatus(
        () -> call.answer(request(), blue),
        Status.Code.NOT_FOUND,
        "no such session; it may have ended");
  }

  @Test
  void answer_leaseMovesAndHasMoved_asksToTryAgainAndThenNamesTheOtherServer() throws Exception {
    LinkedWorker source = served.attach(session);
    ground.leases.hold(session.lease(), reason -> {});
    Ground other = server("b");
    served.sessions.moves().start();
    LeaseMoves.Begun move =
        new LeaseMoves(
                ground.store,
                ground.leases,
                ground.capacity,
                timers,
                new ServerKinds.Kind("soft", "1", true))
            .begin(session.lease().id().text(), new Destination("b", null), blue);
    timers.pass(10);
    assertStatus(() -> call.answer(request(), blue), Status.Code.UNAVAILABLE, "is being moved");
    List<ResumeSessionReply> waiting = new ArrayList<>();
    call.resume(request(), into(waiting), blue);
    assertThat(waiting).isEmpty();
    Optional<String> refusal =
        ground
            .store
            .moves()
            .commit(
                session.lease().id(),
                move.id(),
                new MoveStore.Moved(List.of(session.id().toString()), 1, 1),
                ground.store.moves().sinceMillis("b"));
    assertThat(refusal).isEmpty();
    timers.pass(1000);
    assertThat(source.isEnded()).isTrue();
    assertThat(waiting).extracting(ResumeSessionReply::getElsewhere).containsExactly("b:7642");
    for (String named : List.of("", "a", "b")) {
      assertThat(call.answer(request().toBuilder().setServer(named).build(), blue).getElsewhere())
          .as("named: %s", named)
          .isEqualTo("b:7642");
    }
    assertThat(other.store.get(session.lease().id()).orElseThrow().isOn("b")).isTrue();
  }

  @Test
  void answer_sessionHasMovedHere_goesOnHereWhicheverServerIsNamed() throws Exception {
    LinkedWorker ignored = served.attach(session);
    Ground other = server("b");
    MoveRecord move =
        new MoveRecord(
            "m",
            GpuKey.of(PlacementTest.gpu("b", 0, 8L << 30)),
            ground.store.get(session.lease().id()).orElseThrow().parts().getFirst(),
            0,
            null,
            MoveRecord.Phase.MOVED,
            new MoveRecord.Result("", 0, 0, true),
            List.of(session.id().toString()));
    ground.records.update(transaction -> {
      transaction.put(RecordTypes.MOVES, session.lease().id().text(), move);
    });
    assertThat(call.answer(request().toBuilder().setServer("b").build(), blue).getElsewhere())
        .isEmpty();
    assertThat(other.store.moves().get(session.lease().id())).contains(move);
  }

  @Test
  void answer_beforeTheFirstConnection_asksToTryAgain() {
    assertStatus(
        () -> call.answer(request(), blue),
        Status.Code.UNAVAILABLE,
        "first connection is still being made");
  }

  @Test
  void answer_tooOften_endsTheSessionAndSaysSo() throws Exception {
    LinkedWorker ignored = served.attach(session);
    for (int i = 0; i < 64; i++) {
      ResumeSessionReply given = call.answer(request(), blue);
      assertThat(given.getResumeKey().size()).isEqualTo(SessionKey.BYTES);
    }
    assertStatus(() -> call.answer(request(), blue), Status.Code.NOT_FOUND, "resumed too often");
    assertThat(session.state()).isEqualTo(Session.State.ENDING);
  }

  @Test
  void answer_sessionOfAnotherServer_namesItsAddress() throws Exception {
    Ground other = server("b");
    ResumeSessionRequest there = request().toBuilder().setServer("b").build();
    ResumeSessionReply reply = call.answer(there, blue);
    assertThat(reply.getElsewhere()).isEqualTo("b:7642");
    assertThat(reply.getResumeKey().isEmpty()).isTrue();
    other.die();
    timers.pass(1000);
    assertStatus(
        () -> call.answer(there, blue), Status.Code.UNAVAILABLE, "server b, which has the session");
  }

  private Ground server(String name) {
    Ground server = new Ground(store, timers, name, List.of(PlacementTest.gpu(name, 0, 8L << 30)));
    server.come();
    timers.pass(1000);
    return server;
  }

  private ResumeSessionRequest request() {
    return ResumeSessionRequest.newBuilder()
        .setSessionId(ByteString.copyFrom(session.id().bytes()))
        .setSessionKey(ByteString.copyFrom(session.key().bytes()))
        .build();
  }

  private static StreamObserver<ResumeSessionReply> into(List<ResumeSessionReply> replies) {
    return new StreamObserver<>() {
      @Override
      public void onNext(ResumeSessionReply reply) {
        replies.add(reply);
      }

      @Override
      public void onError(Throwable failure) {
        throw new AssertionError(failure);
      }

      @Override
      public void onCompleted() {}
    };
  }

  private static void assertStatus(ThrowingCallable asking, Status.Code code, String text) {
    assertThatThrownBy(asking)
        .isInstanceOfSatisfying(
            StatusRuntimeException.class,
            e -> {
              assertThat(e.getStatus().getCode()).isEqualTo(code);
              assertThat(e.getStatus().getDescription()).contains(text);
            });
  }
}
