// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker.session;

import static org.assertj.core.api.Assertions.assertThat;

import io.gpupool.worker.connection.ClearConnection;
import io.gpupool.worker.os.Posix;
import io.gpupool.worker.seal.ProgramEnd;
import io.gpupool.worker.session.core.AnswerLog;
import io.gpupool.worker.session.core.AnswerSender;
import java.io.IOException;
import java.io.RandomAccessFile;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** A call stream by itself, whose session is busy elsewhere. */
@Timeout(60)
class CallStreamTest {
  private static final long WINDOW_MILLIS = 100;
  private static final int PAGE_BYTES = 4096;

  private final ProgramEnd first = ProgramEnd.open(kind());
  private final ProgramEnd later = ProgramEnd.open(kind());
  private final AnswerSender sender = new AnswerSender(new AnswerLog(), first.worker());
  private final CallStream stream =
      new CallStream(
          first.worker(), new ResumeWindow(WINDOW_MILLIS, cause -> {}, () -> {}), sender);

  ProgramEnd.Kind kind() {
    return ProgramEnd.Kind.CLEAR;
  }

  @AfterEach
  void close() {
    stream.release();
    sender.close();
    Posix.close(first.worker().fd());
    later.close();
  }

  private void loseFirst() {
    first.close();
    assertThat(stream.awaitAndReceive()).isZero();
    stream.lose(0, sender);
  }

  private void offerLater() {
    byte[] greeting = Request.resume(0);
    later.sendAll(greeting, greeting.length);
    stream.offer(later.worker());
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
    first.close();
    long begin = System.nanoTime();
    assertThat(stream.watch()).isNotNegative();
    assertThat(stream.watch()).isBetween(1L, System.nanoTime() - begin);

    offerLater();
    assertThat(stream.watch()).as("a connection is there, and waits").isZero();
    Posix.shutdown(later.fd());
    assertThat(stream.watch()).as("and is gone").isPositive();
    stream.offer(new ClearConnection(Posix.dup(later.fd())));
  }

  @Test
  void prepare_givesTheNextStreamMemoryThatIsThere() throws IOException {
    CallStream.prepare();
    CallStream prepared = resumable();
    CallStream further = resumable();

    assertThat(isTouched(prepared.buffer)).isTrue();
    assertThat(isTouched(prepared.buffer + (4 << 20) - PAGE_BYTES)).isTrue();
    assertThat(isTouched(prepared.buffer + (4 << 20))).as("beyond what is received into").isFalse();
    assertThat(isTouched(further.buffer)).isFalse();

    prepared.release();
    further.release();
  }

  private CallStream resumable() {
    return new CallStream(
        first.worker(), new ResumeWindow(WINDOW_MILLIS, cause -> {}, () -> {}), sender);
  }

  private static boolean isTouched(long address) throws IOException {
    try (RandomAccessFile pages = new RandomAccessFile("/proc/self/pagemap", "r")) {
      pages.seek(address / PAGE_BYTES * Long.BYTES);
      return Long.reverseBytes(pages.readLong()) < 0;
    }
  }
}
