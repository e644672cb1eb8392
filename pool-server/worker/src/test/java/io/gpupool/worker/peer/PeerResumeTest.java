// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker.peer;

import static org.assertj.core.api.Assertions.assertThat;

import io.gpupool.worker.os.Memory;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.RepeatedTest;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Two workers whose connection breaks, and comes back or does not. */
@Timeout(60)
class PeerResumeTest {
  private static final List<PeerAddress> ADDRESSES =
      List.of(new PeerAddress("a:1", "s-a", "aa"), new PeerAddress("b:2", "s-b", "bb"));
  private static final long WINDOW_MILLIS = 20_000;

  private final RecordingListener[] listeners = {new RecordingListener(), new RecordingListener()};
  private final PeerConnections[] peers = new PeerConnections[2];

  @AfterEach
  void close() {
    for (PeerConnections one : peers) {
      one.close();
    }
  }

  private void begin(long windowMillis, PeerConnections.Dialer dialer) {
    for (int i = 0; i < 2; i++) {
      peers[i] = new PeerConnections(dialer);
      peers[i].outlive(windowMillis);
      listeners[i].use(peers[i]);
    }
    for (int i = 0; i < 2; i++) {
      assertThat(peers[i].introduce(i, ADDRESSES, listeners[i])).isTrue();
    }
  }

  private void connectThrough(CutRelay relay, long windowMillis) {
    begin(
        windowMillis,
        (link, peer) -> Thread.startVirtualThread(() -> relay.connect(peers[0], peers[1])));
  }

  /** A pull that one worker has asked for. */
  private record Copy(int to, byte[] content, long target) {}

  @ParameterizedTest
  @ValueSource(longs = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12})
  void frames_overConnectionsThatBreakAtRandomBytes_comeOnceAndInOrder(long seed)
      throws InterruptedException {
    CutRelay relay = new CutRelay(seed, 25, 300_000);
    connectThrough(relay, WINDOW_MILLIS);
    Random random = new Random(seed);
    List<List<String>> asked = List.of(new ArrayList<>(), new ArrayList<>());
    List<Copy> copies = new ArrayList<>();
    int[] frames = new int[2];
    for (long ticket = 1; ticket <= 600; ticket++) {
      int from = random.nextInt(2);
      int to = 1 - from;
      if (random.nextInt(12) > 0) {
        peers[from].sendTicket(to, ticket);
        asked.get(to).add("ticket " + ticket);
      } else {
        byte[] content = new byte[random.nextInt(1, random.nextBoolean() ? 100 : 2_500_000)];
        random.nextBytes(content);
        copies.add(new Copy(from, content, RecordingListener.memory(new byte[content.length])));
        listeners[to].allow(ticket, RecordingListener.memory(content));
        listeners[from].expect(ticket, copies.getLast().target);
        peers[from].pull(to, ticket, content.length);
        asked.get(to).add("pull " + ticket);
        frames[from]++;
      }
      frames[to]++;
    }
    for (int i = 0; i < 2; i++) {
      List<String> came = listeners[i].await(frames[i]);
      assertThat(came).hasSize(frames[i]).doesNotHaveDuplicates();
      assertThat(came.stream().filter(frame -> !frame.startsWith("end")))
          .containsExactlyElementsOf(asked.get(i));
      assertThat(listeners[i].lost).isNotDone();
    }
    for (Copy copy : copies) {
      assertThat(Memory.bytes(copy.target, copy.content.length)).isEqualTo(copy.content);
    }
    assertThat(relay.connections()).isGreaterThan(5);
    long copied = copies.stream().mapToLong(copy -> copy.content.length).sum();
    assertThat(peers[0].receivedBytes() + peers[1].receivedBytes()).isEqualTo(copied);
    assertThat(peers[0].sentBytes() + peers[1].sentBytes()).isEqualTo(copied);
  }

  @Test
  void connection_thatDoesNotComeBackWithinTheWindow_isLostAtBothEndsWithTheCause()
      throws Exception {
    long windowMillis = 1000;
    AtomicInteger dials = new AtomicInteger();
    CutRelay relay = new CutRelay(1, 1, 4000);
    begin(
        windowMillis,
        (link, peer) -> {
          if (dials.incrementAndGet() == 1) {
            Thread.startVirtualThread(() -> relay.connect(peers[0], peers[1]));
          } else {
            peers[1].refused(0, "no way there", true);
          }
        });
    for (long ticket = 0; ticket < 1000; ticket++) {
      peers[0].sendTicket(1, ticket);
    }
    assertThat(listeners[1].lost.get(30, TimeUnit.SECONDS))
        .endsWith("1 s ago, and it did not come back within the resume window of 1 s");
    assertThat(listeners[0].lost.get(30, TimeUnit.SECONDS)).contains("resume window of 1 s");
    assertThat(dials.get()).as("asked again and again").isGreaterThan(3);
  }

  @Test
  void server_thatSaysThatTheSessionIsGone_endsItAtOnce() throws Exception {
    AtomicInteger dials = new AtomicInteger();
    CutRelay relay = new CutRelay(1, 1, 100);
    begin(
        3_600_000,
        (link, peer) -> {
          if (dials.incrementAndGet() == 1) {
            Thread.startVirtualThread(() -> relay.connect(peers[0], peers[1]));
          } else {
            peers[1].refused(0, "no such session", false);
          }
        });
    for (long ticket = 0; ticket < 100; ticket++) {
      peers[0].sendTicket(1, ticket);
    }
    assertThat(listeners[1].lost.get(30, TimeUnit.SECONDS)).isEqualTo("no such session");
  }

  @RepeatedTest(20)
  void worker_whoseSessionEnds_saysSoAndIsNotMissed() throws Exception {
    CutRelay relay = new CutRelay(1, 0, 100);
    connectThrough(relay, 3_600_000);
    peers[0].sendTicket(1, 5);
    assertThat(listeners[1].await(1)).containsExactly("ticket 5");
    peers[0].close();
    assertThat(listeners[1].lost.get(30, TimeUnit.SECONDS)).isEqualTo("its session has ended");
    assertThat(relay.connections()).isEqualTo(1);
  }

  @Test
  void sessionWithoutAWindow_whoseConnectionBreaks_losesIt() throws Exception {
    connectThrough(new CutRelay(1, 1, 2000), 0);
    for (long ticket = 0; ticket < 500; ticket++) {
      peers[0].sendTicket(1, ticket);
    }
    assertThat(listeners[1].lost.get(30, TimeUnit.SECONDS))
        .isEqualTo("its server closed the connection");
  }
}
