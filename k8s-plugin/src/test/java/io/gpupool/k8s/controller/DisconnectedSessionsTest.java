// SPDX-License-Identifier: Apache-2.0
package io.gpupool.k8s.controller;

import static org.assertj.core.api.Assertions.assertThat;

import io.gpupool.control.v1.ListSessionsReply;
import io.gpupool.control.v1.SessionInfo;
import io.gpupool.control.v1.SessionInfo.State;
import io.grpc.Status;
import io.grpc.stub.StreamObserver;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

class DisconnectedSessionsTest {
  private static final Duration EVERY = Duration.ofSeconds(5);

  private final ManualTimers timers = new ManualTimers();
  private final List<StreamObserver<ListSessionsReply>> asked = new ArrayList<>();
  private final List<Set<String>> news = new ArrayList<>();
  private boolean inContact = true;
  private final DisconnectedSessions sessions =
      new DisconnectedSessions(asked::add, timers, EVERY, () -> inContact, news::add);

  @BeforeEach
  void start() {
    sessions.start();
  }

  private static SessionInfo lost(String lease, long millisLeft) {
    return SessionInfo.newBuilder()
        .setLeaseId(lease)
        .setState(State.STATE_DISCONNECTED)
        .setResumeMillisLeft(millisLeft)
        .build();
  }

  /** Answers the only question that is open. */
  private void answer(SessionInfo... those) {
    StreamObserver<ListSessionsReply> question = asked.removeFirst();
    assertThat(asked).isEmpty();
    question.onNext(ListSessionsReply.newBuilder().addAllSessions(List.of(those)).build());
    question.onCompleted();
  }

  private Instant in(long millis) {
    return timers.now().plusMillis(millis);
  }

  @Test
  void until_severalSessionsOfALease_isTheFirstEnd() {
    answer(lost("L1", 40_000), lost("L1", 30_000), lost("L2", 50_000));
    assertThat(sessions.until("L1")).contains(in(30_000));
    assertThat(sessions.until("L2")).contains(in(50_000));
    assertThat(sessions.until("L3")).isEmpty();
    assertThat(news).containsExactly(Set.of("L1", "L2"));
  }

  @Test
  void until_timeLeftIsNotQuiteTheSame_staysAndIsNoNews() {
    answer(lost("L1", 30_000));
    Instant first = sessions.until("L1").orElseThrow();
    for (int i = 1; i <= 5; i++) {
      timers.pass(EVERY);
      answer(lost("L1", 30_000 - i * EVERY.toMillis() + 2900 * (i % 2)));
    }
    assertThat(sessions.until("L1")).contains(first);
    assertThat(news).hasSize(1);
  }

  @Test
  void until_lostAgain_isLater() {
    answer(lost("L1", 30_000));
    timers.pass(EVERY);
    answer(lost("L1", 30_000));
    assertThat(sessions.until("L1")).contains(in(30_000));
    assertThat(news).containsExactly(Set.of("L1"), Set.of("L1"));
  }

  @Test
  void until_sessionIsBack_isEmpty() {
    answer(lost("L1", 30_000), lost("L2", 30_000));
    timers.pass(EVERY);
    answer(lost("L2", 25_000));
    assertThat(sessions.until("L1")).isEmpty();
    assertThat(news).containsExactly(Set.of("L1", "L2"), Set.of("L1"));
  }

  @Test
  void until_poolOfAnEarlierReleaseListsAllSessions_connectedOnesDoNotCount() {
    answer(SessionInfo.newBuilder().setLeaseId("L1").setState(State.STATE_ATTACHED).build());
    assertThat(sessions.until("L1")).isEmpty();
    assertThat(news).isEmpty();
  }

  @Test
  void pool_doesNotAnswer_isNotAskedAgainUntilTheCallHasFailed() {
    answer(lost("L1", 30_000));
    timers.pass(EVERY.multipliedBy(4));
    assertThat(asked).as("open questions").hasSize(1);
    asked.removeFirst().onError(Status.UNAVAILABLE.asException());
    assertThat(sessions.until("L1")).as("as far as is known").isPresent();
    timers.pass(EVERY);
    answer();
    assertThat(sessions.until("L1")).isEmpty();
  }

  @Test
  void apiServer_isAway_poolIsNotAsked() {
    answer();
    inContact = false;
    timers.pass(EVERY.multipliedBy(4));
    assertThat(asked).isEmpty();
    inContact = true;
    timers.pass(EVERY);
    assertThat(asked).hasSize(1);
  }
}
