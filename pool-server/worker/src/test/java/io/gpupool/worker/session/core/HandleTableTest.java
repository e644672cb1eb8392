// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker.session.core;

import static org.assertj.core.api.Assertions.assertThat;

import io.gpupool.cuda.CudaResult;
import io.gpupool.cuda.SessionServices;
import org.junit.jupiter.api.Test;

class HandleTableTest {
  private final HandleTable table = new HandleTable();
  private final Object owner = new Object();

  @Test
  void get_anyNumberThatIsNotThere_isNoHandle() {
    for (int number : new int[] {-1, 0, 1, 15, 16, 1 << 20, Integer.MAX_VALUE, Integer.MIN_VALUE}) {
      assertThat(table.get(number)).isEqualTo(SessionServices.NO_HANDLE);
    }
  }

  @Test
  void check_reservedOrTakenNumber_isInvalid() {
    assertThat(table.check(15)).isEqualTo(CudaResult.INVALID_VALUE);
    assertThat(table.check(-16)).isEqualTo(CudaResult.INVALID_VALUE);
    assertThat(table.check(16)).isZero();
    table.put(16, 77, owner);
    assertThat(table.check(16)).isEqualTo(CudaResult.INVALID_VALUE);
    assertThat(table.get(16)).isEqualTo(77);
    table.remove(16);
    assertThat(table.check(16)).isZero();
  }

  @Test
  void numbers_farApart_areBounded() {
    int taken = 0;
    for (int number = 16; number > 0 && number < Integer.MAX_VALUE - 4096; number += 2048) {
      if (table.check(number) != 0) {
        assertThat(table.check(number)).isEqualTo(CudaResult.OUT_OF_MEMORY);
        break;
      }
      table.put(number, 1, owner);
      taken++;
    }
    assertThat(taken).isEqualTo(4096);
  }

  @Test
  void numbers_neverUsedAgain_doNotFillTheTable() {
    for (int number = 16; number < 3_000_000; number++) {
      assertThat(table.check(number)).isZero();
      table.put(number, number, owner);
      table.remove(number);
    }
  }

  @Test
  void removeOwnedBy_takesThoseAlone() {
    Object other = new Object();
    table.put(16, 1, owner);
    table.put(17, 2, other);
    table.put(5000, 3, owner);

    table.removeOwnedBy(owner);

    assertThat(table.get(16)).isEqualTo(SessionServices.NO_HANDLE);
    assertThat(table.get(17)).isEqualTo(2);
    assertThat(table.get(5000)).isEqualTo(SessionServices.NO_HANDLE);
  }
}
