// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker.session.quota;

import static org.assertj.core.api.Assertions.assertThat;

import io.gpupool.cuda.Backend;
import io.gpupool.cuda.NvidiaBackend;
import io.gpupool.worker.session.TestDriver;
import java.util.List;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** What a driver takes of a lease's memory beyond what the program allocates. */
class DriverOverheadTest {
  private static final long MIB = 1 << 20;
  private static final long QUOTA = 1024 * MIB;
  private static final long CONTEXT = 300 * MIB;
  private static final long STEP = 16 * MIB;

  private final Ledger ledger = Ledger.alone(new long[] {QUOTA});

  /** What the driver tells of this process. */
  private long told;

  private DriverOverhead overhead;

  @BeforeEach
  void open() {
    Backend ignored = TestDriver.backend();
    Backend card =
        new NvidiaBackend() {
          @Override
          public long contextBytes() {
            return CONTEXT;
          }

          @Override
          public long usedMemoryBytes(int gpu) {
            return told;
          }
        };
    overhead = new DriverOverhead(card, ledger, List.of(new LeasedGpu(0, QUOTA, 100)));
  }

  private void makeContext() {
    assertThat(overhead.reserveContext(0)).isTrue();
  }

  private long counted() {
    return ledger.sessionBytes(0);
  }

  @Test
  void context_ofADriverThatTellsNothing_countsAsItIsKnown() {
    told = Backend.NOT_TOLD;
    makeContext();
    assertThat(overhead.measure(0, true)).isTrue();
    assertThat(counted()).isEqualTo(CONTEXT);
    overhead.contextEnded(0, true);
    assertThat(counted()).isZero();
  }

  @Test
  void context_moreThanIsLeft_isRefused() {
    assertThat(ledger.reserve(0, QUOTA - CONTEXT + 1)).isTrue();
    assertThat(overhead.reserveContext(0)).isFalse();
    assertThat(counted()).isEqualTo(QUOTA - CONTEXT + 1);
  }

  @Test
  void whatTheDriverTells_beyondAllocations_countsWithRoomAhead() {
    makeContext();
    assertThat(ledger.reserve(0, 100 * MIB)).isTrue();
    told = 100 * MIB + 310 * MIB;
    assertThat(overhead.measure(0, true)).isTrue();
    assertThat(overhead.bytes(0)).isEqualTo(20 * STEP);
    told += MIB;
    assertThat(overhead.measure(0, true)).isTrue();
    assertThat(counted()).isEqualTo(100 * MIB + 20 * STEP);
  }

  @Test
  void whatTheDriverTells_beyondTheQuota_countsAndIsSaid() {
    makeContext();
    assertThat(ledger.reserve(0, 700 * MIB)).isTrue();
    told = 700 * MIB + 400 * MIB;
    assertThat(overhead.measure(0, true)).isFalse();
    assertThat(counted()).isEqualTo(1100 * MIB);
    assertThat(ledger.freeBytes(0)).isZero();
  }

  @Test
  void freedMemory_thatIsStillCounted_doesNotMakeTheRestSmaller() {
    makeContext();
    assertThat(ledger.reserve(0, 200 * MIB)).isTrue();
    told = 200 * MIB + CONTEXT;
    assertThat(overhead.measure(0, true)).isTrue();
    long before = overhead.bytes(0);
    told = CONTEXT;
    assertThat(overhead.measure(0, false)).isTrue();
    assertThat(overhead.bytes(0)).isEqualTo(before);
    ledger.release(0, 200 * MIB);
    assertThat(overhead.measure(0, true)).isTrue();
    assertThat(counted()).isBetween(CONTEXT, CONTEXT + STEP);
  }

  @Test
  void lastContext_ended_leavesNothing() {
    makeContext();
    told = CONTEXT + 50 * MIB;
    assertThat(overhead.measure(0, true)).isTrue();
    told = 0;
    overhead.contextEnded(0, true);
    assertThat(counted()).isZero();
  }
}
