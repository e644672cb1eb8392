// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.records;

import static io.gpupool.control.v1.LeaseClass.LEASE_CLASS_LATENCY;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.gpupool.control.v1.UpdateLeaseRequest;
import io.gpupool.server.gpu.LeaseClass;
import io.gpupool.server.rejection.InvalidFieldException;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class LeaseChangeTest {
  private static UpdateLeaseRequest.Builder request() {
    return UpdateLeaseRequest.newBuilder().setLeaseId("L12");
  }

  private static void requireRefused(UpdateLeaseRequest.Builder request, String... words) {
    assertThatThrownBy(() -> LeaseChange.of(request.build()))
        .isInstanceOf(InvalidFieldException.class)
        .message()
        .contains(words)
        .doesNotContain("\n");
  }

  @Test
  void of_whatIsThere_isWhatChanges() throws Exception {
    assertThat(LeaseChange.of(request().setComputePercent(12.5).build()))
        .isEqualTo(new LeaseChange(1250, null, null));
    LeaseChange all =
        LeaseChange.of(
            request().setComputePercent(100).setHard(false).setClass_(LEASE_CLASS_LATENCY).build());
    assertThat(all).isEqualTo(new LeaseChange(10_000, false, LeaseClass.LATENCY));
    assertThat(all.text()).isEqualTo("100 % compute, lendable, class latency");
  }

  @ParameterizedTest
  @ValueSource(doubles = {0, 0.99, -1, 100.01, 101, Double.NaN, Double.POSITIVE_INFINITY, -1e300})
  void of_computeThatCannotBe_isNamedWithWhatCan(double percent) {
    requireRefused(
        request().setComputePercent(percent).setHard(true),
        "compute_percent is " + percent,
        "give 1 to 100");
  }

  @ParameterizedTest
  @ValueSource(ints = {0, 3, -1, Integer.MAX_VALUE})
  void of_classThatThereIsNot_isNamedWithThoseThereAre(int number) {
    requireRefused(
        request().setClass_Value(number), "class is " + number + ";", "give batch or latency");
  }

  @Test
  void of_nothing_saysWhatThereIs() {
    requireRefused(request(), "compute_percent (1 to 100)", "hard (true or false)", "class (batch");
  }
}
