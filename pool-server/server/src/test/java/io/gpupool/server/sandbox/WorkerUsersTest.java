// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.sandbox;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.HashSet;
import java.util.Random;
import java.util.Set;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class WorkerUsersTest {
  private final UserRange range = UserRange.parse("700000-702047");
  private final WorkerUsers users = new WorkerUsers(range, new Random(3));

  @Test
  void take_allOfARange_givesEachOnce() {
    Set<Long> taken = new HashSet<>();
    for (long i = 0; i < range.size(); i++) {
      assertThat(taken.add(users.take())).isTrue();
    }

    assertThat(taken).allMatch(user -> user >= 700_000 && user <= 702_047);
    assertThatThrownBy(users::take).hasMessageContaining("all user ids for workers are taken");
  }

  @Test
  void giveBack_thenTake_givesAnotherAsLongAsThereIsOne() {
    long first = users.take();
    users.giveBack(first);
    for (long i = 1; i < range.size(); i++) {
      assertThat(users.take()).isNotEqualTo(first);
    }

    assertThat(users.take()).isEqualTo(first);
  }

  @ParameterizedTest
  @ValueSource(strings = {"", "1000", "a-b", "0-5000", "1000-1001", "5000-1000", "1-4294967295"})
  void range_thatIsNone_isRefused(String text) {
    assertThatThrownBy(() -> UserRange.parse(text))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessageContaining("--worker-uids");
  }
}
