// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker.session;

import static org.assertj.core.api.Assertions.assertThat;

import io.gpupool.worker.os.Memory;
import io.gpupool.worker.os.Posix;
import io.gpupool.worker.session.core.AnswerLog;
import io.gpupool.worker.session.core.AnswerSender;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** A call stream by itself, whose session is busy elsewhere. */
@Timeout(60)
class CallStreamTest {
  private static final long WINDOW_MILLIS = 100;

  private final int[] first = Posix.socketPair();
  private final int[] later = Posix.socketPair();
  private final AnswerSender sender = new AnswerSender(new AnswerLog(), first[1]);
  private final CallStream stream =
      new CallStream(first[1], new ResumeWindow(WINDOW_MILLIS, cause -> {}, () -> {}), sender);

  @AfterEach
  void close() {
    stream.release();
    sender.close();
    Posix.close(first[1]);
    Posix.close(later[0]);
  }

  private void loseFirst() {
    Posix.close(first[0]);
    assertThat(stream.receive(0)).isZero();
    stream.lose(0, sender);
  }

  private void offerLater() {
    byte[] greeting = Request.resume(0);
    long buffer = Posix.map(greeting.length);
    Memory.put(buffer, greeting, greeting.length);
    assertThat(Posix.sendAll(later[0], buffer, greeting.length, false)).isZero();
    Posix.unmap(buffer, greeting.length);
    stream.offer(later[1]);
  }

  @Test
  void connection_thatCameInTime_isTakenHoweverLongTheSessionWasBusy() throws Exception {
    loseFirst();
    offerLater();
    TimeUnit.MILLISECONDS.sleep(2 * WINDOW_MILLIS);

    assertThat(stream.awaitResumption(sender)).isNull();
    assertThat(stream.isConnected()).isTrue();
  }

  @Test
  void watch_whileTheSessionIsBusy_countsTheTimeWithoutAConnection() {
    assertThat(stream.watch()).isZero();
    Posix.close(first[0]);
    long begin = System.nanoTime();
    assertThat(stream.watch()).isNotNegative();
    assertThat(stream.watch()).isBetween(1L, System.nanoTime() - begin);

    offerLater();
    assertThat(stream.watch()).as("a connection is there, and waits").isZero();
    Posix.shutdown(later[0]);
    assertThat(stream.watch()).as("and is gone").isPositive();
    stream.offer(Posix.dup(later[0]));
  }
}
