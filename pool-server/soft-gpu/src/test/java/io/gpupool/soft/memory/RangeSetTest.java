// SPDX-License-Identifier: Apache-2.0
package io.gpupool.soft.memory;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.BitSet;
import java.util.Random;
import org.junit.jupiter.api.Test;

final class RangeSetTest {
  private final RangeSet set = new RangeSet();

  @Test
  void set_randomAddsAndRemoves_agreesWithBits() {
    Random random = new Random(7);
    BitSet bits = new BitSet();
    for (int step = 0; step < 20_000; step++) {
      int start = random.nextInt(1000);
      int end = start + 1 + random.nextInt(60);
      if (random.nextBoolean()) {
        set.add(start, end);
        bits.set(start, end);
      } else {
        set.remove(start, end);
        bits.clear(start, end);
      }
      assertThat(set.totalBytes()).isEqualTo(bits.cardinality());
    }
    BitSet drained = new BitSet();
    set.drain((start, end) -> {
      assertThat(drained.nextSetBit((int) start)).as("ranges are disjoint").isEqualTo(-1);
      drained.set((int) start, (int) end);
    });
    assertThat(drained).isEqualTo(bits);
    assertThat(set.totalBytes()).isZero();
  }

  @Test
  void add_adjacentRanges_areJoined() {
    set.add(0, 10);
    set.add(20, 30);
    set.add(10, 20);

    int[] ranges = {0};
    set.drain((start, end) -> ranges[0]++);
    assertThat(ranges[0]).isEqualTo(1);
  }
}
