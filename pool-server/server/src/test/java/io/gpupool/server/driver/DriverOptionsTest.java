// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.driver;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.gpupool.server.driver.DriverOptions.Sharing;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class DriverOptionsTest {
  private static DriverOptions options(Sharing sharing, int inFlightBoundMillis) {
    return new DriverOptions(null, null, null, null, sharing, inFlightBoundMillis, false);
  }

  @Test
  void arguments_tellWorkersHowLeasesShareTheTime() {
    assertThat(DriverOptions.DEFAULT.arguments()).isEmpty();
    assertThat(options(Sharing.timeslice, 12).arguments())
        .containsExactly("--in-flight-bound", "12");
    assertThat(options(Sharing.mps, 12).arguments()).containsExactly("--in-flight-bound", "12");
    assertThat(options(Sharing.driver, 12).arguments()).containsExactly("--no-time-slices");
    assertThat(new DriverOptions(null, null, null, null, Sharing.driver, 12, true).arguments())
        .containsExactly("--no-time-slices", "--movable");
  }

  @ParameterizedTest
  @ValueSource(ints = {0, -4, 1001})
  void inFlightBound_thatCannotBe_isRefusedByName(int millis) {
    assertThatThrownBy(() -> options(Sharing.timeslice, millis))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessage("--in-flight-bound " + millis + ": give 1 to 1000 milliseconds");
  }
}
