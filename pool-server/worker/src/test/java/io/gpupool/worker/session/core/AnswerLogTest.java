// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker.session.core;

import static org.assertj.core.api.Assertions.assertThat;

import io.gpupool.cuda.ResumeLimits;
import io.gpupool.worker.os.Memory;
import io.gpupool.worker.os.Posix;
import java.io.ByteArrayOutputStream;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.SplittableRandom;
import org.junit.jupiter.api.Test;

/** A log gives for sending the bytes that were appended, whatever is acknowledged or sent again. */
class AnswerLogTest {
  private static final int ROUNDS = 5;
  private static final int STEPS = 400;

  /** A log with a writer, a reader that is broken off now and then, and memory to lend. */
  private static final class Model {
    final SplittableRandom random;
    final AnswerLog log = new AnswerLog();
    final ByteArrayOutputStream written = new ByteArrayOutputStream();
    final Set<Long> lent = new HashSet<>();
    final List<Long> memory = new ArrayList<>();
    final AnswerLog.Lender lender = this::given;
    long chunk = log.chunk();
    int filled;
    byte[] read = new byte[1 << 20];
    long sent;

    Model(long seed) {
      random = new SplittableRandom(seed);
    }

    void given(long address) {
      assertThat(lent.remove(address)).as("given back once").isTrue();
      // Whoever reads it now reads something else.
      Memory.clear(address, 4096);
    }

    void write(int length) {
      byte[] bytes = new byte[length];
      random.nextBytes(bytes);
      for (int at = 0; at < length; ) {
        if (filled == AnswerLog.CHUNK_BYTES) {
          log.commit(filled);
          chunk = log.nextChunk();
          filled = 0;
        }
        int part = Math.min(length - at, AnswerLog.CHUNK_BYTES - filled);
        Memory.put(chunk + filled, Arrays.copyOfRange(bytes, at, at + part), part);
        filled += part;
        at += part;
      }
      written.writeBytes(bytes);
      if (random.nextBoolean()) {
        log.commit(filled);
      }
    }

    void lend() {
      byte[] bytes = new byte[4096];
      random.nextBytes(bytes);
      long address = Posix.map(4096);
      memory.add(address);
      Memory.put(address, bytes, bytes.length);
      log.commit(filled);
      lent.add(address);
      if (log.lend(address, bytes.length, lender)) {
        written.writeBytes(bytes);
      } else {
        lent.remove(address);
      }
    }

    void send() {
      AnswerLog.Range range = log.next(sent);
      if (range == null) {
        assertThat(sent).isEqualTo(log.endPosition());
        return;
      }
      byte[] bytes = Memory.bytes(range.address(), range.lengthBytes());
      if (read.length < sent + bytes.length) {
        read = Arrays.copyOf(read, 2 * read.length);
      }
      System.arraycopy(bytes, 0, read, (int) sent, bytes.length);
      sent += bytes.length;
      assertThat(range.moreFollows()).isEqualTo(sent < log.endPosition());
    }

    void acknowledge() {
      log.acknowledge(random.nextLong(log.acknowledged(), sent + 1));
    }

    void cut() {
      sent = random.nextLong(log.acknowledged(), sent + 1);
    }

    void step() {
      switch (random.nextInt(12)) {
        case 0, 1, 2 -> write(8 * random.nextInt(1, 2000));
        case 3 -> write(random.nextInt(1, 700_000));
        case 4 -> lend();
        case 5, 6, 7 -> send();
        case 8, 9 -> acknowledge();
        case 10 -> cut();
        default -> {
          if (random.nextInt(10) == 0) {
            log.copyLent(lender);
            lent.forEach(address -> Memory.clear(address, 4096));
            lent.clear();
          }
        }
      }
    }

    void finish() {
      log.commit(filled);
      while (sent < log.endPosition()) {
        send();
      }
      assertThat(Arrays.copyOf(read, (int) sent)).isEqualTo(written.toByteArray());
      log.acknowledge(sent);
      assertThat(lent).as("lent memory not given back").isEmpty();
      log.close();
      log.release();
      memory.forEach(address -> Posix.unmap(address, 4096));
    }
  }

  @Test
  void bytes_appendedAcknowledgedAndSentAgainAtRandom_areReadAsTheyWereWritten() {
    for (int round = 0; round < ROUNDS; round++) {
      Model model = new Model(round);
      for (int i = 0; i < STEPS; i++) {
        model.step();
      }
      model.finish();
    }
  }

  @Test
  void room_ofALogThatNobodyAcknowledges_endsBeforeTheBound() {
    Model model = new Model(1);
    int frame = 1 << 19;
    while (model.log.hasRoom(frame)) {
      model.write(frame);
      model.log.commit(model.filled);
    }
    assertThat(model.log.endPosition())
        .isBetween(
            ResumeLimits.MAX_RETAINED_BYTES - 3L * AnswerLog.CHUNK_BYTES,
            (long) ResumeLimits.MAX_RETAINED_BYTES);

    while (model.sent < frame) {
      model.send();
    }
    model.log.acknowledge(frame);
    assertThat(model.log.hasRoom(frame)).isTrue();
    model.finish();
  }

  @Test
  void lentMemory_ofALogThatIsClosed_isGivenBack() {
    Model model = new Model(2);
    model.lend();
    model.log.close();
    assertThat(model.lent).isEmpty();
    assertThat(model.log.next(0)).isNull();
    assertThat(model.log.isEnding()).isTrue();
    model.log.release();
    model.memory.forEach(address -> Posix.unmap(address, 4096));
  }
}
