// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker.session;

import static org.assertj.core.api.Assertions.assertThat;

import io.gpupool.cuda.CudaResult;
import io.gpupool.cuda.Ops;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Quota counts of a driver's memory pools: the bytes allocated from them, and those they keep. */
@Timeout(120)
class PoolMemoryTest extends SessionOnTestDriver {
  private static final long QUOTA = TestSession.QUOTA_BYTES;
  private static final long PIECE = 60 << 20;

  /** What a pool may have beyond what is allocated of it. */
  private static final long SLACK = 32 << 20;

  private static final int STREAM = 16;
  private static final int OTHER = 17;
  private static final int POOL = 1024;
  private static final int RELEASE_THRESHOLD = 4;

  @BeforeEach
  void makePool() {
    session.post(Ops.streamCreate, STREAM, 1, 0);
    session.post(Ops.streamCreate, OTHER, 1, 0);
    assertThat(session.call(Ops.poolCreate, POOL, 0, 0, 0).result()).isZero();
  }

  @Test
  void freed_behindAStreamThatStandsStill_countsUntilTheStreamGetsThere() {
    long word = session.allocate(512);
    session.post(Ops.cuMemsetD8Async, word, 0, 4, OTHER);
    long memory = allocate();
    session.post(Ops.streamMemoryOperations, STREAM, operation(1, word));
    session.post(Ops.memFreeAsync, memory, STREAM);

    assertThat(freeBytes()).isLessThanOrEqualTo(QUOTA - PIECE);
    assertThat(session.call(Ops.memAllocAsync, PIECE, POOL, OTHER, 1).result())
        .isEqualTo(CudaResult.OUT_OF_MEMORY);

    session.post(Ops.streamMemoryOperations, OTHER, operation(2, word));
    allocate();
  }

  @Test
  void kept_upToTheReleaseThreshold_counts() {
    session.post(Ops.poolSetAttribute, POOL, RELEASE_THRESHOLD, -1);
    session.post(Ops.memFreeAsync, allocate(), STREAM);
    assertThat(session.call(Ops.ctxSynchronize).result()).isZero();

    assertThat(freeBytes()).isEqualTo(QUOTA - (PIECE - SLACK));
  }

  @Test
  void kept_isAllocatedAgainFromThePool() {
    session.post(Ops.poolSetAttribute, POOL, RELEASE_THRESHOLD, -1);
    for (int i = 0; i < 5; i++) {
      session.post(Ops.memFreeAsync, allocate(), STREAM);
    }
  }

  @Test
  void kept_isGivenBack_whenSomethingElseNeedsIt() {
    session.post(Ops.poolSetAttribute, POOL, RELEASE_THRESHOLD, -1);
    session.post(Ops.memFreeAsync, allocate(), STREAM);
    assertThat(session.call(Ops.ctxSynchronize).result()).isZero();

    session.allocate(PIECE);

    assertThat(session.ledger.sessionBytes(0)).isEqualTo(PIECE);
  }

  @Test
  void trimmed_countsNoMore() {
    session.post(Ops.poolSetAttribute, POOL, RELEASE_THRESHOLD, -1);
    session.post(Ops.memFreeAsync, allocate(), STREAM);
    assertThat(session.call(Ops.ctxSynchronize).result()).isZero();

    assertThat(session.call(Ops.cuMemPoolTrimTo, POOL, 0).result()).isZero();

    assertThat(freeBytes()).isEqualTo(QUOTA);
  }

  private long allocate() {
    Answer made = session.call(Ops.memAllocAsync, PIECE, POOL, OTHER, 1);
    assertThat(made.result()).isZero();
    return made.u64(0);
  }

  private long freeBytes() {
    return session.call(Ops.memGetInfo, 1, 1).u64(0);
  }

  private static byte[] operation(int kind, long word) {
    ByteBuffer operation = ByteBuffer.allocate(48).order(ByteOrder.LITTLE_ENDIAN);
    return operation.putInt(0, kind).putLong(8, word).putLong(16, 1).array();
  }
}
