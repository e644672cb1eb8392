// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker.peer;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(30)
class PeerOutboxTest {
  private static final int MAX_BLOCKS = 32;
  private final PeerOutbox outbox = new PeerOutbox(true);

  private static PeerFrame ticket(long ticket) {
    return PeerFrame.of(PeerFrames.TICKET, 0, ticket);
  }

  private List<Long> handOver() {
    List<Long> tickets = new ArrayList<>();
    for (PeerFrame frame = outbox.next(); frame != null; frame = outbox.next()) {
      tickets.add(frame.head[2]);
    }
    return tickets;
  }

  @Test
  void frames_afterALaterConnection_goOnBehindWhatHasCome() {
    for (long i = 1; i <= 5; i++) {
      assertThat(outbox.add(ticket(i))).isTrue();
    }
    assertThat(handOver()).containsExactly(1L, 2L, 3L, 4L, 5L);
    assertThat(outbox.acknowledged(24)).isTrue();
    assertThat(outbox.resumeAt(2 * 24)).isTrue();
    assertThat(outbox.acknowledged(3 * 24)).as("not sent again yet").isFalse();
    assertThat(handOver()).containsExactly(3L, 4L, 5L);
    assertThat(outbox.resumeAt(24)).as("acknowledged beyond before").isFalse();
  }

  @Test
  void pieces_moreThanTheBound_waitForAnAcknowledgement() throws Exception {
    for (int i = 0; i < MAX_BLOCKS; i++) {
      long block = outbox.takeBlock(() -> true);
      assertThat(outbox.add(PeerFrame.piece(1, i, block, 8))).isTrue();
    }
    while (outbox.next() != null) {
      // handed over
    }
    CompletableFuture<Long> next =
        CompletableFuture.supplyAsync(() -> outbox.takeBlock(() -> true));
    assertThat(next).isNotDone();
    assertThat(outbox.acknowledged(40)).isTrue();
    assertThat(next.get(20, TimeUnit.SECONDS)).isNotZero();
  }

  @Test
  void piece_thatIsNotWantedAnyMore_doesNotWaitForAConnection() throws Exception {
    for (int i = 0; i < MAX_BLOCKS; i++) {
      assertThat(outbox.takeBlock(() -> true)).isNotZero();
    }
    AtomicBoolean wanted = new AtomicBoolean(true);
    CompletableFuture<Long> next =
        CompletableFuture.supplyAsync(() -> outbox.takeBlock(wanted::get));
    wanted.set(false);
    outbox.stir();
    assertThat(next.get(20, TimeUnit.SECONDS)).isZero();
  }

  @Test
  void tickets_moreThanTheOtherWorkerKeeps_areRefused() {
    for (int i = 0; i < 1 << 20; i++) {
      assertThat(outbox.add(ticket(i))).isTrue();
    }
    assertThat(outbox.add(ticket(0))).isFalse();
  }
}
