// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker.session;

import static org.assertj.core.api.Assertions.assertThat;

import io.gpupool.cuda.AnswerKind;
import io.gpupool.cuda.Ops;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.BitSet;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Mirrors on the test driver, whose memory is read through staging blocks. */
@Timeout(60)
class MirrorsTest extends SessionOnTestDriver {
  private static final int BLOCK_BYTES = 4096;
  private static final int BLOCKS = 700;
  private static final int LENGTH_BYTES = BLOCK_BYTES * (BLOCKS - 1) + 33;
  private static final int STREAM = 30;

  private long address;

  /** What the client has; blocks that come are put into it. */
  private final byte[] copy = new byte[LENGTH_BYTES];

  @BeforeEach
  void start() {
    session.post(Ops.streamCreate, STREAM, 1, 0);
    address = session.allocate(LENGTH_BYTES);
  }

  private void create(int zeroed) {
    session.post(Ops.mirrorCreate, address, LENGTH_BYTES, BLOCK_BYTES, zeroed, STREAM);
    assertThat(session.call(Ops.streamSynchronize, STREAM).result()).isZero();
  }

  /** Reads what the device changed, and says which blocks those were. */
  private List<Integer> read() {
    int tag = session.ask(Ops.mirrorRead, address, LENGTH_BYTES, (BLOCKS + 7) / 8);
    while (true) {
      Answer answer = session.read();
      if (answer.kind() == AnswerKind.DATA) {
        byte[] data = answer.data();
        System.arraycopy(data, 0, copy, (int) answer.u64(0), data.length);
      } else if (answer.kind() == AnswerKind.REPLY && answer.tag() == tag) {
        assertThat(answer.result()).isZero();
        return new ArrayList<>(BitSet.valueOf(answer.variable(0)).stream().boxed().toList());
      }
    }
  }

  private void fill(int offset, int value, int count) {
    session.post(Ops.cuMemsetD8Async, address + offset, value, count, STREAM);
    assertThat(session.call(Ops.streamSynchronize, STREAM).result()).isZero();
  }

  @Test
  void read_zeroedMemoryThatNobodyTouched_sendsNothing() {
    create(1);

    assertThat(read()).isEmpty();
  }

  @Test
  void read_memoryOfUnknownContents_sendsAllOfItOnce() {
    byte[] bytes = new byte[LENGTH_BYTES];
    new Random(5).nextBytes(bytes);
    for (int at = 0; at < LENGTH_BYTES; at += 1 << 20) {
      byte[] piece = Arrays.copyOfRange(bytes, at, Math.min(LENGTH_BYTES, at + (1 << 20)));
      session.post(Ops.memcpyHtoD, address + at, STREAM, piece);
    }
    create(0);

    assertThat(read()).hasSize(BLOCKS);
    assertThat(copy).isEqualTo(bytes);
    assertThat(read()).isEmpty();
  }

  @Test
  void read_afterTheDeviceWrote_sendsTheBlocksItChanged() {
    create(1);
    fill(5 * BLOCK_BYTES + 9, 7, 2 * BLOCK_BYTES);
    fill(LENGTH_BYTES - 1, 3, 1);

    assertThat(read()).containsExactly(5, 6, 7, BLOCKS - 1);
    assertThat(copy[5 * BLOCK_BYTES + 8]).isZero();
    assertThat(copy[5 * BLOCK_BYTES + 9]).isEqualTo((byte) 7);
    assertThat(copy[LENGTH_BYTES - 1]).isEqualTo((byte) 3);
    assertThat(read()).isEmpty();
  }

  @Test
  void write_wholeBlocks_areNotSentBack() {
    create(1);
    byte[] bytes = new byte[3 * BLOCK_BYTES];
    Arrays.fill(bytes, (byte) 8);
    session.post(Ops.mirrorWrite, address + BLOCK_BYTES, STREAM, bytes);
    assertThat(session.call(Ops.streamSynchronize, STREAM).result()).isZero();

    assertThat(read()).isEmpty();
    assertThat(session.download(address + BLOCK_BYTES, bytes.length, STREAM)).isEqualTo(bytes);
  }

  @Test
  void write_partOfABlock_comesBackWithWhatTheDeviceHas() {
    create(1);
    fill(2 * BLOCK_BYTES, 4, 16);
    session.post(Ops.mirrorWrite, address + 2 * BLOCK_BYTES + 8, STREAM, new byte[] {1, 2, 3, 4});
    assertThat(session.call(Ops.streamSynchronize, STREAM).result()).isZero();

    assertThat(read()).containsExactly(2);
    assertThat(Arrays.copyOfRange(copy, 2 * BLOCK_BYTES, 2 * BLOCK_BYTES + 17))
        .containsExactly(4, 4, 4, 4, 4, 4, 4, 4, 1, 2, 3, 4, 4, 4, 4, 4, 0);
  }

  @Test
  void write_outsideOfMirrors_isRefused() {
    create(1);
    session.post(Ops.mirrorWrite, address + LENGTH_BYTES - 2, STREAM, new byte[4]);
    assertThat(session.call(Ops.streamSynchronize, STREAM).result()).isEqualTo(1);
    session.post(Ops.mirrorDrop, address);
    session.post(Ops.mirrorWrite, address, STREAM, new byte[4]);
    assertThat(session.call(Ops.streamSynchronize, STREAM).result()).isEqualTo(1);
    assertThat(session.call(Ops.mirrorRead, address, LENGTH_BYTES, 88).result()).isEqualTo(1);
  }

  @Test
  void create_whatIsNoRangeOrBlock_isRefused() {
    Object[][] wrong = {
      {address, 0, BLOCK_BYTES, 0, STREAM},
      {address, -1L, BLOCK_BYTES, 0, STREAM},
      {address, LENGTH_BYTES, 4095, 0, STREAM},
      {address, LENGTH_BYTES, 32, 0, STREAM},
      {address, 1L << 40, BLOCK_BYTES, 0, STREAM},
      {Long.MAX_VALUE - 5, 4096, BLOCK_BYTES, 0, STREAM},
    };
    for (Object[] fields : wrong) {
      session.post(Ops.mirrorCreate, fields);
      assertThat(session.call(Ops.streamSynchronize, STREAM).result())
          .as(Arrays.toString(fields))
          .isEqualTo(1);
    }
    session.post(Ops.mirrorCreate, address, LENGTH_BYTES, BLOCK_BYTES, 0, 99);
    assertThat(session.call(Ops.streamSynchronize, STREAM).result()).isEqualTo(400);
  }

  @Test
  void poolCreate_numbersOfDefaultPoolsAndOfOthers_areRefused() {
    assertThat(session.call(Ops.poolCreate, 5, 0, 0, 0).result()).isEqualTo(1);
    assertThat(session.call(Ops.poolCreate, 1024, 9, 0, 0).result()).isEqualTo(1);
    session.post(Ops.poolDestroy, 1024);
    assertThat(session.call(Ops.streamSynchronize, STREAM).result()).isEqualTo(400);
  }
}
