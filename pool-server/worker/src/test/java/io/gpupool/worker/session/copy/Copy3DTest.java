// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker.session.copy;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.BitSet;
import java.util.Random;
import org.junit.jupiter.api.Test;

class Copy3DTest {
  @Test
  void cut_anyBox_takesEachByteOnceInOrder() {
    Random random = new Random(1);
    for (int turn = 0; turn < 500; turn++) {
      Copy3D box = new Copy3D(1 + random.nextInt(40), 1 + random.nextInt(9), 1 + random.nextInt(7));
      int most = 1 + random.nextInt(300);
      BitSet taken = new BitSet();
      long[] next = {0};
      int result =
          box.cut(
              most,
              (x, y, z, piece, offset) -> {
                assertThat(piece.lengthBytes()).isBetween(1L, (long) most);
                assertThat(offset).isEqualTo(next[0]);
                long at = (z * box.height() + y) * box.width() + x;
                assertThat(at).as("rows of a piece follow one another").isEqualTo(offset);
                next[0] += piece.lengthBytes();
                for (long i = at; i < at + piece.lengthBytes(); i++) {
                  assertThat(taken.get((int) i)).isFalse();
                  taken.set((int) i);
                }
                return 0;
              });
      assertThat(result).isZero();
      assertThat(taken.cardinality()).isEqualTo((int) box.lengthBytes());
    }
  }

  @Test
  void cut_afterAnError_stops() {
    int[] pieces = {0};
    int result =
        new Copy3D(10, 10, 10).cut(10, (x, y, z, piece, offset) -> ++pieces[0] == 3 ? 700 : 0);
    assertThat(result).isEqualTo(700);
    assertThat(pieces[0]).isEqualTo(3);
  }

  @Test
  void isGood_emptyOrAbsurd_isFalse() {
    assertThat(new Copy3D(1, 1, 1).isGood()).isTrue();
    assertThat(new Copy3D(0, 1, 1).isGood()).isFalse();
    assertThat(new Copy3D(1, -1, 1).isGood()).isFalse();
    assertThat(new Copy3D(1L << 40, 1L << 40, 1).isGood()).isFalse();
    assertThat(new Copy3D(Long.MAX_VALUE, 2, 2).isGood()).isFalse();
  }
}
