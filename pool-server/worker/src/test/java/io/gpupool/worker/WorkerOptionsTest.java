// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class WorkerOptionsTest {
  private static WorkerOptions parse(String... more) {
    String[] arguments = new String[more.length + 1];
    arguments[0] = "--probe";
    System.arraycopy(more, 0, arguments, 1, more.length);
    return WorkerOptions.parse(arguments);
  }

  @Test
  void turnBound_isFourMillisecondsUnlessGiven() {
    assertThat(parse().turnBoundMillis()).isEqualTo(4);
    assertThat(parse("--turn-bound", "1").turnBoundMillis()).isEqualTo(1);
    assertThat(parse("--turn-bound", "1000").turnBoundMillis()).isEqualTo(1000);
  }

  @ParameterizedTest
  @ValueSource(strings = {"0", "-1", "1001", "soon", ""})
  void turnBound_thatCannotBe_isRefusedByName(String millis) {
    assertThatThrownBy(() -> parse("--turn-bound", millis))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessage("--turn-bound " + millis + ": give 1 to 1000 milliseconds");
  }
}
