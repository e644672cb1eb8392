// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.session;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.gpupool.server.control.ManualTimers;
import io.gpupool.server.gpu.Gpu;
import io.gpupool.server.identity.Principal;
import io.gpupool.server.lease.lifecycle.Ground;
import io.gpupool.server.placement.PlacementTest;
import io.gpupool.server.records.CommunicatorRank;
import io.gpupool.server.state.LocalStore;
import io.gpupool.server.tenant.Tokens;
import io.gpupool.server.worker.LinkedWorker;
import io.gpupool.wire.ClientHello;
import io.gpupool.wire.ServerHello;
import io.gpupool.wire.SessionKey;
import io.gpupool.wire.TextMessage;
import java.security.SecureRandom;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

/** The ranks of communicators, at two servers of a pool. */
class CommunicatorRanksTest {
  private static final String ID = "ab".repeat(32);

  private final ManualTimers timers = new ManualTimers();
  private final LocalStore store = LocalStore.inMemory();
  private final Ground first = ground("a.invalid");
  private final Ground second = ground("b.invalid");
  private final ServedSessions atFirst = new ServedSessions(first);
  private final ServedSessions atSecond = new ServedSessions(second);

  /** A session with the worker that serves it. */
  private record Program(Session session, LinkedWorker worker) {
    void say(String what, int rank, String key, Object value) {
      session.onMessage(
          TextMessage.ofType("rank")
              .put("what", what)
              .put("communicator", ID)
              .put("rank", rank)
              .put(key, value.toString())
              .build());
    }

    void join(int rank, int ranks) {
      say("join", rank, "ranks", ranks);
    }

    List<TextMessage> told() {
      return worker.texts().stream().filter(text -> text.type().equals("rank")).toList();
    }

    /** What it is told next, each as what, rank and reason. */
    List<String> awaitTold() {
      List<TextMessage> told = new ArrayList<>();
      await().until(() -> told.addAll(told()));
      return told.stream()
          .map(text -> text.get("what").orElse("") + " " + text.get("rank").orElse(""))
          .toList();
    }
  }

  private Ground ground(String name) {
    List<Gpu> gpus = List.of(PlacementTest.gpu(name, 0, 8L << 30));
    Ground ground = new Ground(store, timers, name, gpus);
    ground.come();
    timers.pass(1000);
    return ground;
  }

  private Program program(ServedSessions at, Tokens.Made token) throws Exception {
    at.sessions.startRanks();
    return program(at, at.open(at.principal(token)));
  }

  private static Program program(ServedSessions at, Session session) {
    LinkedWorker worker = at.attach(session);
    List<TextMessage> ignored = worker.texts();
    return new Program(session, worker);
  }

  private Map<Integer, CommunicatorRank> recorded() {
    Map<String, Map<Integer, CommunicatorRank>> all = first.store.communicators().all();
    assertThat(all).hasSizeLessThanOrEqualTo(1);
    return all.values().stream().findFirst().orElse(Map.of());
  }

  @Test
  void ranks_ofTwoServers_areToldOnceAllAreThere() throws Exception {
    Tokens.Made token = atFirst.tenant("team", 0);
    Program one = program(atFirst, token);
    for (int quarter = 1; quarter < 4; quarter++) {
      Session ignored = atFirst.open(atFirst.principal(token));
    }
    timers.pass(100);
    Program two = program(atSecond, token);
    assertThat(two.session.lease().parts().getFirst().gpu().server()).isEqualTo("b.invalid");
    one.join(0, 2);
    timers.pass(100);
    assertThat(one.told()).isEmpty();
    two.join(1, 2);
    timers.pass(100);
    assertThat(one.awaitTold()).containsExactly("complete 0");
    assertThat(two.awaitTold()).containsExactly("complete 1");
  }

  @Test
  void idOfNccl_ofRankZero_isToldToAll() throws Exception {
    Tokens.Made token = atFirst.tenant("team", 0);
    Program one = program(atFirst, token);
    Program two = program(atFirst, token);
    String id = "0f".repeat(128);
    one.join(1, 2);
    two.session.onMessage(
        TextMessage.ofType("rank")
            .put("what", "join")
            .put("communicator", ID)
            .put("rank", 0)
            .put("ranks", 2)
            .put("id", id)
            .build());
    timers.pass(100);
    assertThat(one.told().getFirst().get("id")).contains(id);
    assertThat(two.told().getFirst().get("id")).contains(id);
  }

  @Test
  void rank_ofAnotherTenant_isInACommunicatorOfItsOwn() throws Exception {
    Program one = program(atFirst, atFirst.tenant("team", 0));
    Program thief = program(atFirst, atFirst.tenant("thief", 0));
    one.join(0, 2);
    thief.join(1, 2);
    timers.pass(5000);
    assertThat(one.told()).isEmpty();
    assertThat(thief.told()).isEmpty();
  }

  @Test
  void rank_ofAnotherGang_isInACommunicatorOfItsOwn() throws Exception {
    Tokens.Made token = atFirst.tenant("team", 0);
    atFirst.sessions.startRanks();
    Principal principal = atFirst.principal(token);
    Program one = program(atFirst, atFirst.open(principal, "train"));
    Program other = program(atFirst, atFirst.open(principal, "train-2"));
    Program without = program(atFirst, atFirst.open(principal));
    Program two = program(atFirst, atFirst.open(principal, "train"));
    one.join(0, 2);
    other.join(1, 2);
    without.join(1, 2);
    timers.pass(5000);
    assertThat(one.told()).isEmpty();
    two.join(1, 2);
    timers.pass(100);
    assertThat(one.awaitTold()).containsExactly("complete 0");
    assertThat(two.awaitTold()).containsExactly("complete 1");
    assertThat(other.told()).isEmpty();
    assertThat(without.told()).isEmpty();
  }

  @Test
  void rank_thatIsTaken_isRefused() throws Exception {
    Tokens.Made token = atFirst.tenant("team", 0);
    Program one = program(atFirst, token);
    Program two = program(atFirst, token);
    one.join(0, 2);
    two.join(0, 2);
    assertThat(two.awaitTold()).containsExactly("refused 0");
    two.join(1, 3);
    timers.pass(100);
    assertThat(one.awaitTold()).containsExactly("refused 0");
    assertThat(two.awaitTold()).containsExactly("refused 1");
  }

  @Test
  void session_thatEnds_isLostToTheOthers() throws Exception {
    Tokens.Made token = atFirst.tenant("team", 0);
    Program one = program(atFirst, token);
    Program two = program(atFirst, token);
    one.join(0, 2);
    two.join(1, 2);
    timers.pass(100);
    assertThat(one.awaitTold()).containsExactly("complete 0");
    two.session.workerExited(137);
    timers.pass(100);
    assertThat(one.awaitTold()).containsExactly("lost 0");
    assertThat(recorded()).containsOnlyKeys(0);
  }

  @Test
  void rank_thatLeaves_isNotLost_andItsRecordGoesWithTheLast() throws Exception {
    Tokens.Made token = atFirst.tenant("team", 0);
    Program one = program(atFirst, token);
    Program two = program(atFirst, token);
    one.join(0, 2);
    two.join(1, 2);
    timers.pass(100);
    assertThat(one.awaitTold()).containsExactly("complete 0");
    two.say("leave", 1, "x", "");
    two.session.workerExited(0);
    timers.pass(2000);
    assertThat(one.told()).isEmpty();
    assertThat(recorded()).hasSize(2);
    one.say("leave", 0, "x", "");
    timers.pass(2000);
    assertThat(recorded()).isEmpty();
  }

  @Test
  void connection_withinAServer_isHandedToBothRanks() throws Exception {
    Tokens.Made token = atFirst.tenant("team", 0);
    Program one = program(atFirst, token);
    Program two = program(atFirst, token);
    one.join(0, 2);
    two.join(1, 2);
    timers.pass(100);
    assertThat(one.awaitTold()).containsExactly("complete 0");
    assertThat(two.awaitTold()).containsExactly("complete 1");
    one.say("connect", 0, "to", 1);
    assertThat(one.awaitTold()).containsExactly("connected 0");
    assertThat(two.awaitTold()).containsExactly("connection 1");
    one.say("connect", 0, "to", 1);
    assertThat(one.awaitTold()).containsExactly("unconnected 0");
  }

  @Test
  void connection_byAnotherKeyOrToNoRank_isRefused() throws Exception {
    Program one = program(atFirst, atFirst.tenant("team", 0));
    one.join(0, 1);
    String communicator = first.store.communicators().all().keySet().iterator().next();
    assertThat(connect(one.session, SessionKey.random(new SecureRandom()), communicator, 0))
        .isEqualTo(ServerHello.BAD_SESSION);
    SessionKey key = recorded().get(0).key();
    assertThat(connect(one.session, key, communicator, 1)).isEqualTo(ServerHello.BAD_SESSION);
    assertThat(connect(one.session, key, communicator, 0)).isEqualTo(0);
  }

  private int connect(Session session, SessionKey key, String communicator, int to) {
    TextMessage message =
        TextMessage.ofType("rank")
            .put("communicator", communicator)
            .put("from", 1)
            .put("to", to)
            .build();
    return atFirst.connect(ClientHello.ofRank(1, 1, session.id(), key, message)).status();
  }
}
