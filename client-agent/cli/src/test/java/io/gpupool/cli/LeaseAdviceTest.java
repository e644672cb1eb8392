// SPDX-License-Identifier: Apache-2.0
package io.gpupool.cli;

import static org.assertj.core.api.Assertions.assertThat;

import io.gpupool.client.connection.PoolRequestException;
import io.gpupool.control.v1.Cause;
import io.gpupool.control.v1.Refused;
import org.junit.jupiter.api.Test;

class LeaseAdviceTest {
  @Test
  void refusal_forWantOfRoom_namesTheOptions() {
    assertThat(text(Cause.CAUSE_NO_CAPACITY))
        .isEqualTo("why; -m or -p asks for less, --wait waits for room");
    assertThat(text(Cause.CAUSE_NO_MATCH)).startsWith("why; ").contains("gpupool list");
  }

  @Test
  void refusal_thatNoOptionHelps_isToldAsItIs() {
    assertThat(text(Cause.CAUSE_DENIED)).isEqualTo("why");
    assertThat(text(Cause.CAUSE_INVALID)).isEqualTo("why");
    assertThat(
            LeaseAdvice.text(
                new PoolRequestException(PoolRequestException.Cause.UNREACHABLE, "no pool")))
        .isEqualTo("no pool");
  }

  private static String text(Cause cause) {
    return LeaseAdvice.text(
        PoolRequestException.of(Refused.newBuilder().setCause(cause).setReason("why").build()));
  }
}
