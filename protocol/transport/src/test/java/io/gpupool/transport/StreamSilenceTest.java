// SPDX-License-Identifier: Apache-2.0
package io.gpupool.transport;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;

class StreamSilenceTest {
  private static final int WINDOW = 65536;

  private final StreamSilence silence = new StreamSilence(StreamKeepAlive.LIMIT_SECONDS);

  @Test
  void bytesWithoutAcknowledgement_endTheConnectionAfterTheLimit() {
    TcpState unanswered = new TcpState(3, 0, 10, WINDOW);
    assertThat(isTooLong(unanswered, 100)).isFalse();
    assertThat(isTooLong(unanswered, 114)).isFalse();
    assertThat(isTooLong(unanswered, 115)).isTrue();
  }

  @Test
  void bytesWithoutAcknowledgement_onAResumableStream_endItSooner() {
    StreamSilence resumable = new StreamSilence(StreamKeepAlive.RESUMABLE_LIMIT_SECONDS);
    TcpState unanswered = new TcpState(3, 0, 10, WINDOW);
    assertThat(resumable.isTooLong(unanswered, TimeUnit.SECONDS.toNanos(100))).isFalse();
    assertThat(resumable.isTooLong(unanswered, TimeUnit.SECONDS.toNanos(104))).isFalse();
    assertThat(resumable.isTooLong(unanswered, TimeUnit.SECONDS.toNanos(105))).isTrue();
  }

  @Test
  void segmentThatComes_beginsTheWaitAnew() {
    assertThat(isTooLong(new TcpState(3, 0, 10, WINDOW), 100)).isFalse();
    assertThat(isTooLong(new TcpState(3, 0, 11, WINDOW), 115)).isFalse();
    assertThat(isTooLong(new TcpState(3, 0, 11, WINDOW), 129)).isFalse();
    assertThat(isTooLong(new TcpState(3, 0, 11, WINDOW), 130)).isTrue();
  }

  @Test
  void acknowledgedConnection_mayBeIdleForAnyTime() {
    assertThat(isTooLong(new TcpState(1, 0, 10, WINDOW), 100)).isFalse();
    assertThat(isTooLong(new TcpState(0, 0, 10, WINDOW), 105)).isFalse();
    assertThat(isTooLong(new TcpState(0, 0, 10, WINDOW), 100_000)).isFalse();
    assertThat(isTooLong(new TcpState(1, 0, 10, WINDOW), 100_001)).isFalse();
  }

  @Test
  void endThatTakesNoBytes_mayDoSoForAnyTimeAsLongAsItAnswersProbes() {
    for (int second = 0; second < 1000; second += 100) {
      assertThat(isTooLong(new TcpState(3, 0, 10, 0), second)).isFalse();
    }
    assertThat(isTooLong(new TcpState(0, 1, 10, 0), 2000)).isFalse();
    assertThat(isTooLong(new TcpState(0, 4, 10, 0), 2015)).isTrue();
  }

  @Test
  void unknownWindow_isNotJudgedByBytes() {
    assertThat(isTooLong(new TcpState(3, 0, 10, null), 100)).isFalse();
    assertThat(isTooLong(new TcpState(3, 0, 10, null), 1000)).isFalse();
  }

  private boolean isTooLong(TcpState state, long seconds) {
    return silence.isTooLong(state, TimeUnit.SECONDS.toNanos(seconds));
  }
}
