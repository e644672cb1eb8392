// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker.session.quota;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.Random;
import java.util.stream.LongStream;
import org.junit.jupiter.api.Test;

/** What allocations take of a GPU whose memory is given out in blocks. */
class BlockCountTest {
  private static final long MIB = 1 << 20;

  private final BlockCount card = new BlockCount(2 * MIB, 1);

  @Test
  void largeAllocation_takesWholeBlocks() {
    assertThat(card.add(0, MIB + 1)).isEqualTo(2 * MIB);
    assertThat(card.add(0, 2 * MIB + 1)).isEqualTo(4 * MIB);
    assertThat(card.remove(0, 2 * MIB + 1)).isEqualTo(4 * MIB);
  }

  @Test
  void smallAllocations_shareABlock() {
    assertThat(card.add(0, 1)).isEqualTo(2 * MIB);
    assertThat(card.add(0, MIB)).isZero();
    assertThat(card.add(0, MIB)).isEqualTo(2 * MIB);
    assertThat(card.remove(0, MIB)).isEqualTo(2 * MIB);
    assertThat(card.remove(0, MIB)).isZero();
    assertThat(card.remove(0, 1)).isEqualTo(2 * MIB);
  }

  @Test
  void blocksOfTheSmallestSize_areCountedAsTheyAre() {
    BlockCount soft = new BlockCount(512, 1);
    assertThat(soft.add(0, 0)).isZero();
    assertThat(soft.add(0, 1)).isEqualTo(512);
    assertThat(soft.add(0, 513)).isEqualTo(1024);
    assertThat(soft.remove(0, 513)).isEqualTo(1024);
  }

  @Test
  void lengthThatIsNone_staysNegative() {
    assertThat(card.add(0, -1)).isNegative();
    assertThat(card.add(0, Long.MAX_VALUE)).isNegative();
  }

  @Test
  void allThatWasTaken_isLeftInTheEnd() {
    Random random = new Random(7);
    long[] lengths = LongStream.generate(() -> random.nextLong(3 * MIB)).limit(1000).toArray();
    long taken = LongStream.of(lengths).map(length -> card.add(0, length)).sum();
    long left = LongStream.of(lengths).map(length -> card.remove(0, length)).sum();
    assertThat(left).isEqualTo(taken);
  }
}
