// SPDX-License-Identifier: Apache-2.0
package io.gpupool.cli;

import static org.assertj.core.api.Assertions.assertThat;

import io.gpupool.client.connection.PoolRequestException;
import io.gpupool.control.v1.Refused;
import io.gpupool.control.v1.RejectionReason.KindCase;
import io.gpupool.rejection.RejectionSamples;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class ExitStatusTest {
  @ParameterizedTest
  @CsvSource({
    "INVALID_FIELD, 2",
    "NO_CAPACITY, 75",
    "SERVERS_DRAINING, 75",
    "KEPT_FOR_EARLIER, 75",
    "OVER_QUOTA, 75",
    "PRIORITY_TOO_HIGH, 2",
    "EMPTY_POOL, 75",
    "NO_MATCH, 2",
    "NO_PARTITION, 2",
    "RESERVED_FOR_OTHERS, 2",
    "SLICES_ONLY, 2",
    "TOO_LARGE, 2",
    "TOO_FEW_GPUS, 2",
    "QUEUE_FULL, 75",
    "SERVER_STOPPING, 75",
    "CANCELLED, 75",
    "TOKEN_REVOKED, 77",
    "NOT_RECORDED, 75",
    "NOT_SCHEDULED_YET, 75",
    "GANG_INCOMPLETE, 75",
    "GANG_NO_CAPACITY, 75",
    "KIND_NOT_SET, 75",
  })
  void of_refusal_isUsageWhereTheRequestCanNeverBeGranted(KindCase kind, int status) {
    Refused refused = Refused.newBuilder().setReason(RejectionSamples.of(kind)).build();
    PoolRequestException failure = PoolRequestException.of(refused);
    assertThat(ExitStatus.of(failure)).isEqualTo(status);
    assertThat(ExitStatus.of(failure.inWords("other words"))).isEqualTo(status);
  }

  @ParameterizedTest
  @CsvSource({"UNREACHABLE, 69", "PROTOCOL, 69", "DENIED, 77", "REFUSED, 75", "INTERNAL, 1"})
  void of_failureWithoutAReason_followsItsCause(PoolRequestException.Cause cause, int status) {
    assertThat(ExitStatus.of(new PoolRequestException(cause, "failed"))).isEqualTo(status);
  }
}
