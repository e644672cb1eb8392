// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.host;

import static org.assertj.core.api.Assertions.assertThat;

import io.gpupool.server.control.ManualTimers;
import org.junit.jupiter.api.Test;

class HeapTrimTest {
  private final ManualTimers timers = new ManualTimers();
  private final SampleHeap heap = new SampleHeap();

  @Test
  void look_heapIsLargeAndEmpty_isCollectedUntilItIsSmall() {
    heap.committed = 512L << 20;
    heap.used = 12L << 20;
    heap.givesBack = 100L << 20;
    new HeapTrim(timers, heap).start();
    timers.pass(20 * HeapTrim.LOOK_MILLIS);
    assertThat(heap.committed).isLessThan(HeapTrim.SMALL_BYTES);
    assertThat(heap.collections).isEqualTo(5);
  }

  @Test
  void look_heapIsSmall_isLeftAlone() {
    heap.committed = 64L << 20;
    new HeapTrim(timers, heap).start();
    timers.pass(5 * HeapTrim.LOOK_MILLIS);
    assertThat(heap.collections).isZero();
  }

  @Test
  void look_heapIsInUse_isCollectedOnceForEachGrowth() {
    new HeapTrim(timers, heap).start();
    heap.committed = 400L << 20;
    heap.used = 300L << 20;
    timers.pass(5 * HeapTrim.LOOK_MILLIS);
    assertThat(heap.collections).isEqualTo(1);
    heap.committed = 512L << 20;
    timers.pass(5 * HeapTrim.LOOK_MILLIS);
    assertThat(heap.collections).isEqualTo(2);
  }

  @Test
  void look_collectionsGiveNothingBack_stopsTrying() {
    heap.committed = 512L << 20;
    new HeapTrim(timers, heap).start();
    timers.pass(100 * HeapTrim.LOOK_MILLIS);
    assertThat(heap.collections).isEqualTo(6);
  }

  /** A heap that a test fills and that gives so much back each time. */
  private static final class SampleHeap implements HeapTrim.Heap {
    private long committed;
    private long used;
    private long givesBack;
    private int collections;

    @Override
    public long committedBytes() {
      return committed;
    }

    @Override
    public long usedBytes() {
      return used;
    }

    @Override
    public void collect() {
      collections++;
      committed -= givesBack;
    }
  }
}
