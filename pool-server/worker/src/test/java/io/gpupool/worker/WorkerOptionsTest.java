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
  void inFlightBound_isFourMillisecondsUnlessGiven() {
    assertThat(parse().driver().inFlightBoundMillis()).isEqualTo(4);
    assertThat(parse("--in-flight-bound", "1").driver().inFlightBoundMillis()).isEqualTo(1);
    assertThat(parse("--in-flight-bound", "1000").driver().inFlightBoundMillis()).isEqualTo(1000);
  }

  @ParameterizedTest
  @ValueSource(strings = {"0", "-1", "1001", "soon", ""})
  void inFlightBound_thatCannotBe_isRefusedByName(String millis) {
    assertThatThrownBy(() -> parse("--in-flight-bound", millis))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessage("--in-flight-bound " + millis + ": give 1 to 1000 milliseconds");
  }

  @Test
  void seals_onlyIfAsked() {
    assertThat(parse().seals()).isFalse();
    assertThat(parse("--seals").seals()).isTrue();
  }

  @Test
  void listen_isNowhereUnlessGiven() {
    assertThat(parse().listen()).isNull();
    assertThat(parse("--listen", "/run/worker.sock").listen()).isEqualTo("/run/worker.sock");
  }
}
