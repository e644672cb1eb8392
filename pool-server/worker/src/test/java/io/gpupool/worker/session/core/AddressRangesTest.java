// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker.session.core;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;

class AddressRangesTest {
  private final AddressRanges ranges = new AddressRanges();

  AddressRangesTest() {
    ranges.add(0x1000, 0x100);
    ranges.add(0x1100, 0x200);
  }

  @Test
  void cover_allOfOneRange_yes() {
    assertThat(ranges.cover(0x1000, 0x100)).isTrue();
    assertThat(ranges.cover(0x1001, 0xff)).isTrue();
    assertThat(ranges.cover(0x12ff, 1)).isTrue();
  }

  @Test
  void cover_onlyAPart_no() {
    assertThat(ranges.cover(0xfff, 2)).isFalse();
    assertThat(ranges.cover(0x1001, 0x100)).isFalse();
    assertThat(ranges.cover(0x1300, 1)).isFalse();
  }

  @Test
  void cover_twoNeighbours_no() {
    assertThat(ranges.cover(0x10ff, 2)).isFalse();
  }

  @Test
  void cover_lengthThatIsNegativeOrOverflows_no() {
    assertThat(ranges.cover(0x1010, -1)).isFalse();
    assertThat(ranges.cover(0x1010, Long.MIN_VALUE)).isFalse();
    assertThat(ranges.cover(0x1010, Long.MAX_VALUE)).isFalse();
  }

  @Test
  void cover_emptyRange_whereARangeIsOrEnds() {
    assertThat(ranges.cover(0x1010, 0)).isTrue();
    assertThat(ranges.cover(0x1300, 0)).isTrue();
    assertThat(ranges.cover(0x1301, 0)).isFalse();
    assertThat(ranges.cover(0xfff, 0)).isFalse();
  }

  @Test
  void contains_otherLengthOrBeginning_no() {
    assertThat(ranges.contains(0x1000, 0x100)).isTrue();
    assertThat(ranges.contains(0x1000, 0xff)).isFalse();
    assertThat(ranges.contains(0x1001, 0xff)).isFalse();
  }

  @Test
  void remove_range_leavesTheOthers() {
    ranges.remove(0x1000);
    ranges.remove(0x1010);
    assertThat(ranges.cover(0x1000, 1)).isFalse();
    assertThat(ranges.count()).isEqualTo(1);
    assertThat(ranges.lengths()).containsOnlyKeys(0x1100L).containsEntry(0x1100L, 0x200L);
  }
}
