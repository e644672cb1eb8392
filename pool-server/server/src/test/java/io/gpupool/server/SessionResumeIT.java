// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import io.gpupool.control.v1.EndSessionRequest;
import io.gpupool.control.v1.LeaseRequest;
import io.gpupool.control.v1.ListRequest;
import io.gpupool.control.v1.OpenSessionReply;
import io.gpupool.control.v1.ReleaseLeaseRequest;
import io.gpupool.control.v1.SessionInfo;
import io.gpupool.wire.ServerHello;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

/** Sessions resumed on real connections, with real worker processes. */
class SessionResumeIT {
  private static final Duration LIMIT = Duration.ofSeconds(10);
  private static Pool pool;

  @BeforeAll
  static void start() throws Exception {
    pool = new Pool("soft:1", 1);
  }

  @AfterAll
  static void stop() {
    pool.close();
  }

  @Test
  void resume_afterTheStreamBroke_sameWorkerHasTheNextStream() throws Exception {
    Pool.Held held = pool.lease(half());
    OpenSessionReply opened = pool.session(held.lease());
    assertThat(opened.getResumeWindowMillis()).isPositive();
    try (Pool.Stream first = pool.connect(opened)) {
      assertThat(first.answer().isAccepted()).isTrue();
      assertThat(first.say("stay")).isEqualTo("ok");
      assertThat(first.say("window")).isEqualTo(Long.toString(opened.getResumeWindowMillis()));
    }
    await().atMost(LIMIT).until(() -> only().getState() == SessionInfo.State.STATE_DISCONNECTED);
    SessionInfo disconnected = only();
    assertThat(lost())
        .singleElement()
        .extracting(SessionInfo::getId)
        .isEqualTo(disconnected.getId());
    assertThat(disconnected.getResumeMillisLeft()).isBetween(1L, opened.getResumeWindowMillis());
    try (Pool.Stream second =
        pool.connect(opened, pool.resume(opened).getResumeKey().toByteArray())) {
      assertThat(second.answer()).isEqualTo(ServerHello.accepted(1));
      assertThat(second.say("echo again")).isEqualTo("again");
      await().atMost(LIMIT).until(() -> only().getState() == SessionInfo.State.STATE_ATTACHED);
      assertThat(only().hasResumeMillisLeft()).isFalse();
      assertThat(lost()).isEmpty();
      assertThat(only().getWorkerPid()).isEqualTo(disconnected.getWorkerPid());
    }
    end(held);
  }

  @Test
  void resume_keyUsedTwice_isRefused() throws Exception {
    Pool.Held held = pool.lease(half());
    OpenSessionReply opened = pool.session(held.lease());
    try (Pool.Stream first = pool.connect(opened)) {
      assertThat(first.answer().isAccepted()).isTrue();
      assertThat(first.say("stay")).isEqualTo("ok");
      byte[] key = pool.resume(opened).getResumeKey().toByteArray();
      try (Pool.Stream second = pool.connect(opened, key);
          Pool.Stream replay = pool.connect(opened, key)) {
        List<Integer> answers = List.of(second.answer().status(), replay.answer().status());
        assertThat(answers)
            .as("whichever came first")
            .containsExactlyInAnyOrder(ServerHello.ACCEPTED, ServerHello.BAD_SESSION);
      }
    }
    end(held);
  }

  @Test
  void endSession_whileDisconnected_endsItAtOnce() throws Exception {
    Pool.Held held = pool.lease(half());
    OpenSessionReply opened = pool.session(held.lease());
    try (Pool.Stream first = pool.connect(opened)) {
      assertThat(first.answer().isAccepted()).isTrue();
      assertThat(first.say("stay")).isEqualTo("ok");
    }
    await().atMost(LIMIT).until(() -> only().getState() == SessionInfo.State.STATE_DISCONNECTED);
    pool.stub.endSession(EndSessionRequest.newBuilder().setId(only().getId()).build());
    assertThatThrownBy(() -> pool.resume(opened)).hasMessageContaining("NOT_FOUND");
    end(held);
  }

  private static void end(Pool.Held held) {
    var ignored =
        pool.stub.releaseLease(
            ReleaseLeaseRequest.newBuilder()
                .setLeaseId(held.lease().getId())
                .setSecret(held.lease().getSecret())
                .build());
    await().atMost(LIMIT).until(() -> sessions().isEmpty());
  }

  private static SessionInfo only() {
    assertThat(sessions()).hasSize(1);
    return sessions().getFirst();
  }

  private static List<SessionInfo> sessions() {
    return pool.stub.listSessions(ListRequest.getDefaultInstance()).getSessionsList();
  }

  private static List<SessionInfo> lost() {
    return pool.stub
        .listSessions(ListRequest.newBuilder().setDisconnected(true).build())
        .getSessionsList();
  }

  private static LeaseRequest.Builder half() {
    return LeaseRequest.newBuilder().setFraction(0.5).setResumeWindowMillis(60_000);
  }
}
