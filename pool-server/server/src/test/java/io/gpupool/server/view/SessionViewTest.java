// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.view;

import static org.assertj.core.api.Assertions.assertThat;

import io.gpupool.control.v1.ServerInfo;
import io.gpupool.control.v1.SessionInfo;
import io.gpupool.control.v1.SessionInfo.State;
import io.gpupool.server.control.ManualTimers;
import io.gpupool.server.identity.Principal;
import io.gpupool.server.lease.cluster.StatusPublisher;
import io.gpupool.server.lease.lifecycle.Ground;
import io.gpupool.server.placement.PlacementTest;
import io.gpupool.server.records.ServerStatus;
import io.gpupool.server.session.ServedSessions;
import io.gpupool.server.session.Session;
import io.gpupool.server.state.LocalStore;
import io.gpupool.server.worker.LinkedWorker;
import io.gpupool.wire.TextMessage;
import java.util.List;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

class SessionViewTest {
  private static final long HOUR_MILLIS = 3_600_000;

  private final LocalStore store = LocalStore.inMemory();
  private final ManualTimers timers = new ManualTimers();
  private final Ground here = server("a");
  private final ServedSessions served = new ServedSessions(here);
  private final SessionView view =
      new SessionView(
          new ServerDirectory(
              "a", () -> "a:7642", "soft", new ServerMode(false, false), here.capacity.members()),
          served.sessions,
          here.finder,
          publisher(here, "a"),
          timers);
  private Principal blue;
  private Session attached;
  private Session disconnected;

  /** A session that is connected and one that is not, at each of two servers. */
  @BeforeEach
  void open() throws Exception {
    blue = served.principal(served.tenant("blue", HOUR_MILLIS));
    attached = served.open(blue);
    LinkedWorker ignored = served.attach(attached);
    disconnected = served.open(blue);
    LinkedWorker ignoredToo = served.attach(disconnected);
    disconnected.onMessage(TextMessage.ofType("disconnected").put("reason", "reset").build());
    Ground there = server("b");
    ServerStatus status =
        new ServerStatus(
            timers.wallMillis(),
            ServerInfo.getDefaultInstance(),
            List.of(),
            List.of(
                session("there", State.STATE_ATTACHED),
                session("lost-there", State.STATE_DISCONNECTED)));
    publisher(there, "b").start(() -> status);
  }

  @Test
  void list_all_hasSessionsOfAllServers() {
    assertThat(list(blue, false))
        .containsExactlyInAnyOrder(
            attached.id().toString(), disconnected.id().toString(), "there", "lost-there");
  }

  @Test
  void list_disconnected_hasOnlyThoseOfAllServers() {
    assertThat(list(blue, true))
        .containsExactlyInAnyOrder(disconnected.id().toString(), "lost-there");
  }

  @Test
  void list_disconnected_hidesThoseOfOtherTenants() throws Exception {
    assertThat(list(served.principal(served.tenant("red", HOUR_MILLIS)), true)).isEmpty();
  }

  private List<String> list(Principal principal, boolean onlyDisconnected) {
    return view.list(principal, onlyDisconnected).getSessionsList().stream()
        .map(SessionInfo::getId)
        .toList();
  }

  private SessionInfo session(String id, State state) {
    return SessionInfo.newBuilder()
        .setId(id)
        .setLeaseId(attached.lease().id().text())
        .setState(state)
        .build();
  }

  private StatusPublisher publisher(Ground server, String name) {
    return new StatusPublisher(server.records, server.capacity.members(), name, timers);
  }

  private Ground server(String name) {
    Ground server = new Ground(store, timers, name, List.of(PlacementTest.gpu(name, 0, 8L << 30)));
    server.come();
    timers.pass(1000);
    return server;
  }
}
