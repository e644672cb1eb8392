// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker.peer;

import static org.assertj.core.api.Assertions.assertThat;

import io.gpupool.cuda.ResumeLimits;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** A worker that others connect to: the right one, one that was there before, and strangers. */
@Timeout(60)
class PeerGreetingTest {
  private static final int NEW = 0;
  private static final int PROOF = 1;
  private static final int TICKET_BYTES = PeerFrames.HEADER_BYTES;

  private final Random random = new Random(7);
  private final RecordingListener listener = new RecordingListener();
  private final PeerConnections peers =
      new PeerConnections((link, peer) -> {
        throw new AssertionError("the other worker dials");
      });
  private final PeerSecret secret = new PeerSecret();
  private final byte[] key = bytes();

  @BeforeEach
  void begin() {
    PeerAddress address = new PeerAddress("a:1", "s", "k");
    peers.outlive(3_600_000);
    listener.use(peers);
    assertThat(peers.introduce(0, List.of(address, address), listener)).isTrue();
    assertThat(secret.learn(key)).isTrue();
  }

  @AfterEach
  void close() {
    peers.close();
  }

  private byte[] bytes() {
    byte[] bytes = new byte[PeerAddress.RANDOM_BYTES];
    random.nextBytes(bytes);
    return bytes;
  }

  private ManualPeer dial() {
    ManualPeer peer = new ManualPeer();
    peers.connected(1, peer.theirs, bytes());
    return peer;
  }

  /** Begins a session's first connection. */
  private ManualPeer first() {
    ManualPeer peer = dial();
    assertThat(peer.receive().kind()).isEqualTo(PeerFrames.CHALLENGE);
    peer.send(PeerFrames.RESUME, NEW, 0, key);
    ManualPeer.Frame answer = peer.receive();
    assertThat(answer.kind()).isEqualTo(PeerFrames.RESUMED);
    assertThat(answer.ticket()).isZero();
    return peer;
  }

  /** Begins a later one; returns the position of the worker. */
  private long resume(ManualPeer peer, long position) {
    ManualPeer.Frame challenge = peer.receive();
    assertThat(challenge.value()).isEqualTo(PROOF);
    peer.send(PeerFrames.RESUME, PROOF, position, secret.proof(challenge.more(), position));
    ManualPeer.Frame answer = peer.receive();
    assertThat(answer.kind()).isEqualTo(PeerFrames.RESUMED);
    return answer.ticket();
  }

  private String lost() throws Exception {
    return listener.lost.get(30, TimeUnit.SECONDS);
  }

  @Test
  void laterConnection_ofTheSameWorker_fencesTheFormerOffAndGoesOn() throws Exception {
    try (ManualPeer former = first();
        ManualPeer later = dial()) {
      peers.sendTicket(1, 11);
      peers.sendTicket(1, 12);
      assertThat(former.receive().ticket()).isEqualTo(11);
      former.send(PeerFrames.TICKET, 0, 21, new byte[0]);
      assertThat(listener.await(1)).containsExactly("ticket 21");
      assertThat(resume(later, TICKET_BYTES)).isEqualTo(TICKET_BYTES);
      assertThat(later.receive().ticket()).isEqualTo(12);
      later.send(PeerFrames.TICKET, 0, 22, new byte[0]);
      assertThat(listener.await(2)).containsExactly("ticket 21", "ticket 22");
      assertThat(former.receive().ticket()).as("was under way").isEqualTo(12);
      assertThat(former.receive()).isNull();
    }
  }

  @Test
  void stranger_withoutTheSecret_getsNothingAndDisturbsNobody() throws Exception {
    try (ManualPeer right = first()) {
      for (int attempt = 0; attempt < 3; attempt++) {
        try (ManualPeer stranger = dial()) {
          ManualPeer.Frame challenge = stranger.receive();
          PeerSecret guessed = new PeerSecret();
          assertThat(guessed.learn(bytes())).isTrue();
          switch (attempt) {
            case 0 -> stranger.send(PeerFrames.RESUME, NEW, 0, key);
            case 1 ->
                stranger.send(PeerFrames.RESUME, PROOF, 0, guessed.proof(challenge.more(), 0));
            default -> stranger.send(PeerFrames.TICKET, 0, 5, new byte[0]);
          }
          assertThat(stranger.receive()).isNull();
        }
      }
      right.send(PeerFrames.TICKET, 0, 21, new byte[0]);
      assertThat(listener.await(1)).containsExactly("ticket 21");
    }
  }

  @Test
  void handshake_replayed_isNotTakenUp() throws Exception {
    try (ManualPeer former = first();
        ManualPeer later = dial();
        ManualPeer replay = dial()) {
      ManualPeer.Frame challenge = later.receive();
      byte[] proof = secret.proof(challenge.more(), 0);
      later.send(PeerFrames.RESUME, PROOF, 0, proof);
      assertThat(later.receive().kind()).isEqualTo(PeerFrames.RESUMED);
      assertThat(replay.receive().more()).isNotEqualTo(challenge.more());
      replay.send(PeerFrames.RESUME, PROOF, 0, proof);
      assertThat(replay.receive()).isNull();
      later.send(PeerFrames.TICKET, 0, 21, new byte[0]);
      assertThat(listener.await(1)).containsExactly("ticket 21");
      assertThat(former.receive()).isNull();
    }
  }

  @Test
  void callers_moreThanAFew_areTurnedAway() {
    try (ManualPeer right = first()) {
      ManualPeer[] silent = new ManualPeer[5];
      for (int i = 0; i < silent.length; i++) {
        silent[i] = dial();
      }
      assertThat(silent[4].receive()).isNull();
      Arrays.stream(silent).forEach(ManualPeer::close);
      peers.sendTicket(1, 11);
      assertThat(right.receive().ticket()).isEqualTo(11);
    }
  }

  @ParameterizedTest
  @ValueSource(longs = {TICKET_BYTES + 8, 3 * TICKET_BYTES, Long.MAX_VALUE, 0})
  void position_thatIsNone_endsTheSessionWithTheNumbers(long position) throws Exception {
    try (ManualPeer former = first();
        ManualPeer later = dial()) {
      peers.sendTicket(1, 11);
      peers.sendTicket(1, 12);
      assertThat(former.receive().ticket()).isEqualTo(11);
      assertThat(former.receive().ticket()).isEqualTo(12);
      former.send(PeerFrames.ACKNOWLEDGE, 0, TICKET_BYTES, new byte[0]);
      former.send(PeerFrames.TICKET, 0, 21, new byte[0]);
      assertThat(listener.await(1)).hasSize(1);
      ManualPeer.Frame challenge = later.receive();
      later.send(PeerFrames.RESUME, PROOF, position, secret.proof(challenge.more(), position));
      assertThat(lost())
          .startsWith("malformed: ")
          .contains("resumed at byte " + position)
          .contains("bytes " + TICKET_BYTES + " to " + 2 * TICKET_BYTES);
    }
  }

  @ParameterizedTest
  @ValueSource(longs = {1, 2 * TICKET_BYTES, -1})
  void acknowledgement_ofWhatWasNotSent_endsTheSession(long position) throws Exception {
    try (ManualPeer peer = first()) {
      peers.sendTicket(1, 11);
      assertThat(peer.receive().ticket()).isEqualTo(11);
      peer.send(PeerFrames.ACKNOWLEDGE, 0, position, new byte[0]);
      assertThat(lost()).startsWith("malformed: ").contains("acknowledgement");
    }
  }

  @Test
  void frames_manyReceived_areAcknowledged() throws Exception {
    try (ManualPeer peer = first()) {
      int tickets = ResumeLimits.ACKNOWLEDGE_BYTES / TICKET_BYTES + 1;
      for (int ticket = 0; ticket < tickets; ticket++) {
        peer.send(PeerFrames.TICKET, 0, ticket, new byte[0]);
      }
      ManualPeer.Frame told = peer.receive();
      assertThat(told.kind()).isEqualTo(PeerFrames.ACKNOWLEDGE);
      assertThat(told.ticket()).isEqualTo((long) tickets * TICKET_BYTES);
    }
  }

  @ParameterizedTest
  @ValueSource(longs = {1, 2, 3, 4, 5, 6, 7, 8})
  void randomFrames_ofAnyKind_endTheConnectionOrAreTaken(long seed) throws Exception {
    Random frames = new Random(seed);
    try (ManualPeer peer = first()) {
      for (int i = 0; i < 500 && !listener.lost.isDone(); i++) {
        byte[] more = new byte[frames.nextInt(6) * 8];
        frames.nextBytes(more);
        int kind = frames.nextInt(8) == 0 ? frames.nextInt(12) : PeerFrames.TICKET;
        boolean whole = kind == PeerFrames.TICKET || kind == PeerFrames.ACKNOWLEDGE;
        peer.send(kind, frames.nextInt(3), frames.nextInt(40), whole ? new byte[0] : more);
      }
      assertThat(lost())
          .satisfiesAnyOf(
              why -> assertThat(why).startsWith("malformed: it sent what it must not: "),
              why -> assertThat(why).isEqualTo("its session has ended"));
    }
  }
}
